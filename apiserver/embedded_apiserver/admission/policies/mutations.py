# SPDX-License-Identifier: Apache-2.0
"""The results of a policy's mutations: configurations to apply, and JSON patches."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.admission.policies.expressions import Failed
from embedded_apiserver.cel.times import text_of_duration, text_of_timestamp
from embedded_apiserver.cel.values import Duration, Structure, Timestamp, Value
from embedded_apiserver.quoting import quoted

_PARTS = ("op", "path", "from")


def configuration(made: Value) -> dict[str, Any]:
    """Return the apply configuration that is the value of a mutation's expression.

    Raises:
        Failed: A part of the value has another type than its field, or no form in JSON.
    """
    _check_names(made)
    found: dict[str, Any] = as_json(made)
    return found


def operations(made: Value) -> list[dict[str, Any]]:
    """Return the operations of the JSON patch that is the value of a mutation's expression.

    Raises:
        Failed: A part of the value has another type than its field, or no form in JSON.
    """
    found = []
    for one in made:
        if isinstance(value := one.get("value"), Structure):
            _check_names(value)
        operation = {"op": "", "path": "", **{name: one[name] for name in _PARTS if one.get(name)}}
        found.append({**operation, "value": as_json(value)} if "value" in one else operation)
    return found


def as_json(value: Value) -> Any:
    """Return the value of a CEL expression as a decoded JSON value.

    Raises:
        Failed: The value has no form in JSON.
    """
    match value:
        case Mapping():
            return {name: as_json(item) for name, item in value.items()}
        case list():
            return [as_json(item) for item in value]
        case bytes():
            return base64.b64encode(value).decode()
        case Duration():
            return text_of_duration(value)
        case Timestamp():
            return text_of_timestamp(value)
        case bool() | float() | str() | None:
            return value
        case int():
            return int(value)
    raise Failed(f"unsupported conversion of {type(value).__name__} to JSON")


def _check_names(made: Structure) -> None:
    if found := list(_wrong_names(made, made.type.name)):
        raise Failed(f"type mismatch: {chr(10).join(found)}")


def _wrong_names(value: Value, path: str) -> Iterator[str]:
    """Yield what is wrong with the names of types: that of a part is the name of the whole, and the field's."""
    if isinstance(value, Structure):
        if (name := value.type.name) != path:
            expected = f"expected {quoted(path)}, which matches field name path from root Object type"
            yield f"unexpected type name {quoted(name)}, {expected}"
        for field, item in value.items():
            yield from _wrong_names(item, f"{path}.{field}")
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _wrong_names(item, path)
