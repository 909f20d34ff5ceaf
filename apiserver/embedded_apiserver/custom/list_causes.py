# SPDX-License-Identifier: Apache-2.0
"""The validation errors of lists whose elements must differ: sets, and lists with keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from embedded_apiserver.causes import duplicate, invalid
from embedded_apiserver.kinds.definition import Raw
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.paths import ROOT, Path

LIST_TYPE = "x-kubernetes-list-type"
_KEYS = "x-kubernetes-list-map-keys"


def list_causes(schema: Raw, value: Any, path: Path = ROOT) -> Iterator[Cause]:
    """Return the validation errors of duplicate elements in all lists of a value that are declared as sets or with
    keys.

    Args:
        schema: The schema of the value, as in a definition.
        value: The value in the form to be stored.
        path: The path of the value, for messages.
    """
    if type(value) is dict:
        properties, values = schema.get("properties", {}), schema.get("additionalProperties")
        for name, item in value.items():
            if isinstance(values, Mapping):
                yield from list_causes(values, item, path.below(f"[{name}]"))
            elif (child := properties.get(name)) is not None:
                yield from list_causes(child, item, path.below(f".{name}"))
    elif type(value) is list:
        if schema.get(LIST_TYPE) == "set":
            yield from _repeated(value, value, path)
        elif schema.get(LIST_TYPE) == "map":
            yield from _of_keys(schema.get(_KEYS, ()), value, path)
        if isinstance(items := schema.get("items"), Mapping):
            for index, item in enumerate(value):
                yield from list_causes(items, item, path.below(f"[{index}]"))


def _of_keys(keys: list[str], value: list[Any], path: Path) -> Iterator[Cause]:
    for index, item in enumerate(value):
        if item is not None and type(item) is not dict:
            yield invalid(str(path.below(f"[{index}]")), item, "must be an object for an array of list-type map")
            return
    identities = [{key: item[key] for key in keys if key in item} if item else {} for item in value]
    yield from _repeated(identities, identities, path)


def _repeated(identities: list[Any], shown: list[Any], path: Path) -> Iterator[Cause]:
    """Return a cause for each identity that occurs more than once, at its second place."""
    seen: dict[bytes, int] = {}
    for index, identity in enumerate(identities):
        mark = msgspec.json.encode(identity, order="sorted")
        seen[mark] = seen.get(mark, 0) + 1
        if seen[mark] == 2:
            yield duplicate(str(path.below(f"[{index}]")), shown[index])
