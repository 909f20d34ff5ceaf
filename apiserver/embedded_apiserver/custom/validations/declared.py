# SPDX-License-Identifier: Apache-2.0
"""The types of a structural schema, with the sizes by which a server estimates the cost of a rule.

A schema of which nothing is known, or with elements of which nothing is known, has no type, and no expression can name
its values. Unknown fields of an object are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import attrs

from embedded_apiserver.cel import types
from embedded_apiserver.cel.types import Field, Type
from embedded_apiserver.custom.validations.field_paths import RESERVED, escaped
from embedded_apiserver.kinds.definition import Raw

_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_LARGEST = 3 * 1024 * 1024
"""The bytes of the largest request."""

_BYTES_OF_A_CHARACTER = 4
_EMPTY, _OF_AN_ENTRY = 2, 6  # bytes: brackets or quotes; quotes of a key, colon, comma and quotes
_OF_A_FIELD = 4  # bytes: quotes of the name, colon and comma
_STRING: Raw = {"type": "string"}
_META: Mapping[str, Raw] = {
    "kind": _STRING,
    "apiVersion": _STRING,
    "metadata": {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}},
}
_SIMPLE = {"boolean": (types.BOOL, 4), "number": (types.DOUBLE, 1), "integer": (types.INT, 1)}
# For the formats that have a type of their own, that type, the least bytes of a value and the most.
_FORMATS = {
    "duration": (types.DURATION, 3, 32),
    "date": (types.TIMESTAMP, 12, 12),
    "date-time": (types.TIMESTAMP, 21, 32),
}
_serial = itertools.count(100_000_000)


@attrs.frozen
class Declared:
    """The CEL type of a schema's values.

    Attributes:
        type: The type; its size is the maximum number of elements, entries, characters or bytes, or 0 for other types.
        least: The size of the shortest value as JSON, in bytes.
    """

    type: Type
    least: int

    def most_repeated(self) -> int:
        """Return the maximum number of such values in the largest allowed request."""
        return _LARGEST // (self.least + 1)


def self_name() -> str:
    """Return a new unique name for the type of `self`, which no expression can use."""
    return f"selfType{next(_serial)}"


def with_metadata(schema: Raw) -> Raw:
    """Return the schema of whole objects with the fields that every object has: kind, apiVersion, name and
    generateName.
    """
    return {**schema, "properties": {**schema.get("properties", {}), **_META}}


def declared(schema: Raw, name: str, *, is_root: bool = False) -> Declared | None:
    """Return the CEL type of a schema's values; None if CEL has no type for them.

    Args:
        schema: The schema.
        name: The name for the type, if it is an object. The names of its fields' types begin with it.
        is_root: True if the schema is that of whole objects.
    """
    if schema.get(_INT_OR_STRING):
        longest = schema.get("maxLength")
        size = _LARGEST - _EMPTY if longest is None else max(longest, 0) * _BYTES_OF_A_CHARACTER
        return Declared(types.DYN.sized(size), 1)
    if is_root:
        schema = with_metadata(schema)
    match schema.get("type"):
        case "array":
            return _array(schema, name)
        case "object":
            return _object(schema, name)
        case "string":
            return _string(schema)
        case str() as word if word in _SIMPLE:
            type_, least = _SIMPLE[word]
            return Declared(type_.sized(0), least)
    return None


def _array(schema: Raw, name: str) -> Declared | None:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return None
    inner = declared(items, f"{name}.@idx", is_root=bool(items.get(_EMBEDDED)))
    if inner is None:
        return None
    most = schema.get("maxItems")
    size = (_LARGEST - _EMPTY) // (inner.least + 1) if most is None else max(most, 0)
    return Declared(types.list_of(inner.type, size), _EMPTY)


def _object(schema: Raw, name: str) -> Declared | None:
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        inner = declared(values, f"{name}.@elem", is_root=bool(values.get(_EMBEDDED)))
        if inner is None:
            return None
        most = schema.get("maxProperties")
        size = (_LARGEST - _EMPTY) // (inner.least + _OF_AN_ENTRY) if most is None else max(most, 0)
        return Declared(types.map_of(types.STRING.sized(0), inner.type, size), _EMPTY)
    fields: dict[str, Field] = {}
    required, least = set(schema.get("required") or ()), _EMPTY
    for property_, child in schema.get("properties", {}).items():
        word = escaped(property_)
        inner = declared(child, f"{name}.{word}", is_root=bool(child.get(_EMBEDDED)))
        if inner is None:
            continue
        if word is not None:
            fields[word] = Field(inner.type, property_)
            if property_ in RESERVED and property_ not in fields:  # behind a dot a reserved word is a name
                fields[property_] = fields[word]
        if property_ in required and child.get("default") is None:
            least += len(property_.encode()) + inner.least + _OF_A_FIELD
    return Declared(types.object_of(name, fields).sized(0), least)


def _string(schema: Raw) -> Declared:
    longest, format_ = schema.get("maxLength"), schema.get("format")
    if format_ in _FORMATS:
        type_, least, most = _FORMATS[format_]
        return Declared(type_.sized(most), least)
    if format_ == "byte":
        return Declared(types.BYTES.sized(_LARGEST - _EMPTY if longest is None else max(longest, 0)), _EMPTY)
    if longest is not None:
        size = max(longest, 0) * _BYTES_OF_A_CHARACTER
    elif words := schema.get("enum"):
        size = max((len(word.encode()) for word in words if isinstance(word, str)), default=0)
    else:
        size = _LARGEST - _EMPTY
    return Declared(types.STRING.sized(size), _EMPTY)
