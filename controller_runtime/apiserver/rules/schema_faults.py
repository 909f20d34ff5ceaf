# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a custom object, by the schema of its kind, in the words of a real server.

What an update leaves as it was is not looked at again: a schema may have become stricter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from controller_runtime.apiserver.kinds.definition import Raw
from controller_runtime.apiserver.rules.formats import FORMATS, normalized
from controller_runtime.apiserver.rules.patterns import matches
from controller_runtime.apiserver.rules.rules import is_same
from controller_runtime.apiserver.rules.validation import duplicate, required
from controller_runtime.apiserver.status import Cause

NEW: Any = object()
"""Stands for the old value of what was not there before."""

_TYPES: Mapping[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_INT32 = 1 << 31
_NEAR = 1e-9
_NOWHERE = "<nil>"  # how a real server tells the place of what concerns several schemas


def schema_causes(schema: Raw, value: Any, old: Any = NEW, path: str = "") -> Iterator[Cause]:
    """What is wrong with a value.

    Args:
        schema: Of the value; as it stands in a definition.
        value: As it is to be stored.
        old: What stood there before, if anything did.
        path: Where it stands, as messages name it.
    """
    if is_same(value, old):
        return
    types, name = _types_of(schema), _TYPES[type(value)]
    if types and name not in types and not _is_also(value, types) and not (value is None and schema.get("nullable")):
        text = f'{path} in body must be of type {",".join(types)}: "{name}"'
        yield Cause("FieldValueTypeInvalid", f'Invalid value: "{name}": {text}', path)
    yield from _enum_causes(schema, value, path)
    if value is None:
        return
    match value:
        case bool():
            pass
        case int() | float():
            yield from _number_causes(schema, value, path)
        case str():
            yield from _text_causes(schema, value, path)
        case list():
            yield from _list_causes(schema, value, path)
        case dict():
            yield from _object_causes(schema, value, old, path)
    yield from _combination_causes(schema, value, path)


def _types_of(schema: Raw) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer", "string"
    return (schema["type"],) if schema.get("type") else ()


def _is_also(value: Any, types: Sequence[str]) -> bool:
    """An integer is a number, and 2.0 an integer."""
    if type(value) is int:
        return "number" in types
    return type(value) is float and value.is_integer() and "integer" in types


def _said(path: str, value: Any, text: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {_json(value)}: {path} in body {text}", path)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _number(bound: float) -> str:
    return str(int(bound)) if float(bound).is_integer() else repr(bound)


def _enum_causes(schema: Raw, value: Any, path: str) -> Iterator[Cause]:
    allowed = schema.get("enum")
    if allowed and value not in allowed:
        words = ", ".join(_json(one if isinstance(one, str) else _json(one)) for one in allowed)
        yield Cause("FieldValueNotSupported", f"Unsupported value: {_json(value)}: supported values: {words}", path)


def _is_multiple(value: float, factor: float) -> bool:
    """Exactly, unless it is a multiple of a fraction: 0.3 is one of 0.1."""
    return not value % factor if float(factor).is_integer() else abs(math.remainder(value, factor)) <= factor * _NEAR


def _number_causes(schema: Raw, value: float, path: str) -> Iterator[Cause]:
    if schema.get("format") == "int32" and not -_INT32 <= value < _INT32:
        text = f"Checked value must be of type {schema.get('type')} with format int32 in {path}"
        yield Cause("FieldValueInvalid", f'Invalid value: "": {text}', _NOWHERE)
    factor, low, high = (schema.get(name) for name in ("multipleOf", "minimum", "maximum"))
    if factor is not None and not _is_multiple(value, factor):
        yield _said(path, value, f"should be a multiple of {_number(factor)}")
    if low is not None and (value <= low if schema.get("exclusiveMinimum") else value < low):
        words = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield _said(path, value, f"should be {words} {_number(low)}")
    if high is not None and (value >= high if schema.get("exclusiveMaximum") else value > high):
        words = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield _said(path, value, f"should be {words} {_number(high)}")


def _text_causes(schema: Raw, value: str, path: str) -> Iterator[Cause]:
    longest, shortest, pattern = (schema.get(name) for name in ("maxLength", "minLength", "pattern"))
    if longest is not None and len(value) > longest:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {longest} bytes", path)
    elif shortest is not None and len(value) < shortest:
        yield _said(path, value, f"should be at least {shortest} chars long")
    elif pattern and not matches(pattern, value):
        yield _said(path, value, f"should match '{pattern}'")
    format_ = schema.get("format", "")
    check = FORMATS.get(normalized(format_)) if schema.get("type", "string") == "string" else None
    if check is not None and not check(value):
        text = f"{path} in body must be of type {format_}: {_json(value)}"
        yield Cause("FieldValueTypeInvalid", f"Invalid value: {_json(value)}: {text}", path)


def _list_causes(schema: Raw, value: list[Any], path: str) -> Iterator[Cause]:
    most, fewest, items = (schema.get(name) for name in ("maxItems", "minItems", "items"))
    if isinstance(items, Mapping):
        for index, item in enumerate(value):
            yield from schema_causes(items, item, NEW, f"{path}[{index}]")
    if fewest is not None and len(value) < fewest:
        yield _said(path, len(value), f"should have at least {fewest} items")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)
    yield from _repetitions(schema, value, path)


def _repetitions(schema: Raw, value: list[Any], path: str) -> Iterator[Cause]:
    """Elements of a set, or of a list with keys, that stand there twice."""
    keys, seen = schema.get("x-kubernetes-list-map-keys", ()), set()
    if schema.get("x-kubernetes-list-type") not in ("set", "map"):
        return
    for index, item in enumerate(value):
        told = {key: item[key] for key in keys if key in item} if keys and isinstance(item, dict) else item
        mark = msgspec.json.encode(told, order="sorted")
        if mark in seen:
            yield duplicate(f"{path}[{index}]", told)
        seen.add(mark)


def _object_causes(schema: Raw, value: dict[str, Any], old: Any, path: str) -> Iterator[Cause]:
    before = old if isinstance(old, dict) else {}
    properties, values = schema.get("properties", {}), schema.get("additionalProperties")
    most, fewest = schema.get("maxProperties"), schema.get("minProperties")
    if fewest is not None and len(value) < fewest:
        yield _said(path, len(value), f"should have at least {fewest} properties")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)
    for name, item in value.items():
        child = properties.get(name, values)
        if isinstance(child, Mapping):
            yield from schema_causes(child, item, before.get(name, NEW), f"{path}.{name}" if path else name)
    for name in schema.get("required", ()):
        if name not in value:
            yield required(f"{path}.{name}" if path else name)


def _combination_causes(schema: Raw, value: Any, path: str) -> Iterator[Cause]:
    """What other schemas say that have to hold together: at least one, exactly one, all, not."""
    any_of, one_of, all_of = (schema.get(name) or () for name in ("anyOf", "oneOf", "allOf"))
    wrong = _tried(any_of, value, path)
    if wrong and all(wrong):
        yield _against(path, "must validate at least one schema (anyOf)")
        yield from min(wrong, key=len)
    wrong = _tried(one_of, value, path)
    if one_of and (right := wrong.count([])) != 1:
        found = f"Found {right} valid alternatives" if right else "Found none valid"
        yield _against(path, f"must validate one and only one schema (oneOf). {found}")
        yield from min(wrong, key=len)
    wrong = _tried(all_of, value, path)
    if any(wrong):
        whole = _against(path, f"must validate all the schemas (allOf){'. None validated' if all(wrong) else ''}")
        yield from dict.fromkeys([*(cause for causes in wrong for cause in causes), whole])  # each told once
    if schema.get("not") and not list(schema_causes(schema["not"], value, NEW, path)):
        yield _against(path, "must not validate the schema (not)")


def _tried(schemas: Sequence[Raw], value: Any, path: str) -> list[list[Cause]]:
    return [list(schema_causes(schema, value, NEW, path)) for schema in schemas]


def _against(path: str, text: str) -> Cause:
    return Cause("FieldValueInvalid", f'Invalid value: "": "{path}" {text}', _NOWHERE)
