# SPDX-License-Identifier: Apache-2.0
"""Custom resources from annotated classes: schema, definition, changes, comparison.

The names in `__all__` are public. Those that every operator needs are in `controller_runtime`, too. Names are imported
when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msgspec import UNSET, Meta, UnsetType, field

    from controller_runtime.api.resources import Kind, resource_of
    from controller_runtime.crd.columns import AGE, Column, Scale
    from controller_runtime.crd.comparison import Difference, compare
    from controller_runtime.crd.conversion import Conversion, converts
    from controller_runtime.crd.declaration import custom_resource
    from controller_runtime.crd.definitions import DEFINITIONS, definition, schema_of
    from controller_runtime.crd.merging import changes
    from controller_runtime.crd.rules import Rule, immutable, validated
    from controller_runtime.crd.types import (
        EMBEDDED,
        LIST_ATOMIC,
        LIST_SET,
        MAP_ATOMIC,
        NULLABLE,
        PRESERVE_UNKNOWN_FIELDS,
        Condition,
        CustomResource,
        Duration,
        Int32,
        Int64,
        IntOrString,
        JSONObject,
        Quantity,
        Struct,
        list_map,
    )

__all__ = [
    "AGE",
    "DEFINITIONS",
    "EMBEDDED",
    "LIST_ATOMIC",
    "LIST_SET",
    "MAP_ATOMIC",
    "NULLABLE",
    "PRESERVE_UNKNOWN_FIELDS",
    "UNSET",
    "Column",
    "Condition",
    "Conversion",
    "CustomResource",
    "Difference",
    "Duration",
    "Int32",
    "Int64",
    "IntOrString",
    "JSONObject",
    "Kind",
    "Meta",
    "Quantity",
    "Rule",
    "Scale",
    "Struct",
    "UnsetType",
    "changes",
    "compare",
    "converts",
    "custom_resource",
    "definition",
    "field",
    "immutable",
    "list_map",
    "resource_of",
    "schema_of",
    "validated",
]

# The module of each name; names that are not listed are in `crd.types`.
_MODULES = {
    **dict.fromkeys(("UNSET", "Meta", "UnsetType", "field"), "msgspec"),
    **dict.fromkeys(("Kind", "resource_of"), "controller_runtime.api.resources"),
    "changes": "controller_runtime.crd.merging",
    **dict.fromkeys(("AGE", "Column", "Scale"), "controller_runtime.crd.columns"),
    **dict.fromkeys(("Difference", "compare"), "controller_runtime.crd.comparison"),
    **dict.fromkeys(("Conversion", "converts"), "controller_runtime.crd.conversion"),
    "custom_resource": "controller_runtime.crd.declaration",
    **dict.fromkeys(("DEFINITIONS", "definition", "schema_of"), "controller_runtime.crd.definitions"),
    **dict.fromkeys(("Rule", "immutable", "validated"), "controller_runtime.crd.rules"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES.get(name, "controller_runtime.crd.types")), name)


def __dir__() -> list[str]:
    """Return the public names, whether they are imported yet or not."""
    return sorted(__all__)
