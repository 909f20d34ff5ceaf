# SPDX-License-Identifier: Apache-2.0
"""The validation errors of a value by an OpenAPI schema, in the words of a real API server.

A part that an update does not change is not checked again (ratcheting): the schema may have become stricter since the
object was stored, and an update of another field must still succeed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from apimachinery.equality import same_json
from embedded_apiserver.bounds import MOST_TOLD
from embedded_apiserver.causes import required, too_long
from embedded_apiserver.custom.formats import FORMATS, is_known, normalized
from embedded_apiserver.custom.number_causes import NOWHERE, number_causes
from embedded_apiserver.custom.work import Work
from embedded_apiserver.kinds.definition import Raw
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.paths import ROOT, Path

NEW: Any = object()
"""Stands for the old value of a field that did not exist before. It is not None, because null is a value."""

_TYPES: Mapping[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
# The formats that a real server sees in values of these types.
_FORMATS: Mapping[str, str] = {"integer": "int64", "number": "float64"}
_COMBINED = frozenset(("anyOf", "oneOf", "allOf", "not"))
_NAMES = 4  # required names that are looked up in about the time of a check


def schema_causes(
    schema: Raw, value: Any, old: Any = NEW, path: Path = ROOT, work: Work | None = None
) -> Iterator[Cause]:
    """Return the validation errors of a value by its schema.

    Args:
        schema: The schema of the value, as in a definition.
        value: The value in the form to be stored.
        old: The value before the update; `NEW` for a new value.
        path: The path of the value, for messages.
        work: The limit on the checks for one object, shared by several calls; None starts a new limit.

    Raises:
        StatusError: 413, the limit is exceeded.
    """
    if old is not NEW and same_json(value, old):
        return
    work = work or Work()
    work.spend(1)
    if (wrong := _wrong_type(schema, value)) is not None:
        wanted, name = wrong
        text = f'{path} in body must be of type {wanted}: "{name}"'
        yield Cause("FieldValueTypeInvalid", f'Invalid value: "{name}": {text}', str(path))
    if "enum" in schema:
        yield from _enum_causes(schema, value, path, work)
    if value is None:
        return
    match value:
        case bool():
            pass
        case int() | float():
            yield from number_causes(schema, value, path)
        case str():
            yield from _text_causes(schema, value, path, work)
        case list():
            yield from _list_causes(schema, value, path, work)
        case dict():
            yield from _object_causes(schema, value, old, path, work)
    if not _COMBINED.isdisjoint(schema):
        yield from _combination_causes(schema, value, path, work)


def _types_of(schema: Raw) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer", "string"
    return (schema["type"],) if schema.get("type") else ()


def _wrong_type(schema: Raw, value: Any) -> tuple[str, str] | None:
    """Return the type that a schema wants and the one that a value has; None if the value is accepted.

    In the validator of a real API server a format outranks the type: of a text with a format, each list is accepted.
    """
    types, name = _types_of(schema), _TYPES[type(value)]
    if value is None:
        return (",".join(types), name) if types and not schema.get("nullable") else None
    format_ = schema.get("format", "")
    if format_ and not is_known(schema.get("type", ""), format_):
        format_ = ""
    if not types and not format_:
        return None
    fits = name in types or _is_also(value, types)
    is_text = isinstance(value, str | list)
    if format_ and not is_text and not fits and _FORMATS.get(name, "") != format_:
        return format_, _FORMATS.get(name, "")
    if format_ and is_text and "number" not in types and "integer" not in types:
        return None
    return None if fits else (",".join(types), name)


def _is_also(value: Any, types: Sequence[str]) -> bool:
    """Return whether a value of another type is accepted: an integer as a number, and 2.0 as an integer."""
    if type(value) is int:
        return "number" in types
    return type(value) is float and value.is_integer() and "integer" in types


def _in_body(path: Path, value: Any, text: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {_json(value)}: {path} in body {text}", str(path))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _enum_causes(schema: Raw, value: Any, path: Path, work: Work) -> Iterator[Cause]:
    allowed = schema.get("enum")
    if allowed and not work.is_among(value, allowed):
        text = f"Unsupported value: {_json(value)}: supported values: {work.list_of(allowed)}"
        yield Cause("FieldValueNotSupported", text, str(path))


def _text_causes(schema: Raw, value: str, path: Path, work: Work) -> Iterator[Cause]:
    longest, shortest, pattern = (schema.get(name) for name in ("maxLength", "minLength", "pattern"))
    if longest is not None and len(value) > longest:
        yield too_long(str(path), longest)
    elif shortest is not None and len(value) < shortest:
        yield _in_body(path, value, f"should be at least {shortest} chars long")
    elif pattern and not work.matches(pattern, value):
        yield _in_body(path, value, f"should match '{pattern}'")
    format_ = schema.get("format", "")
    check = FORMATS.get(normalized(format_)) if schema.get("type", "string") == "string" else None
    if check is not None and not check(value):
        text = f"{path} in body must be of type {format_}: {_json(value)}"
        yield Cause("FieldValueTypeInvalid", f"Invalid value: {_json(value)}: {text}", str(path))


def _list_causes(schema: Raw, value: list[Any], path: Path, work: Work) -> Iterator[Cause]:
    most, fewest, items = (schema.get(name) for name in ("maxItems", "minItems", "items"))
    if isinstance(items, Mapping):
        for index, item in enumerate(value):
            yield from schema_causes(items, item, NEW, path.below(f"[{index}]"), work)
    if fewest is not None and len(value) < fewest:
        yield _in_body(path, len(value), f"should have at least {fewest} items")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", str(path))


def _object_causes(schema: Raw, value: dict[str, Any], old: Any, path: Path, work: Work) -> Iterator[Cause]:
    before = old if isinstance(old, dict) else {}
    properties, values = schema.get("properties", {}), schema.get("additionalProperties")
    most, fewest = schema.get("maxProperties"), schema.get("minProperties")
    if fewest is not None and len(value) < fewest:
        yield _in_body(path, len(value), f"should have at least {fewest} properties")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", str(path))
    for name, item in value.items():
        child = properties.get(name, values)
        if isinstance(child, Mapping):
            yield from schema_causes(child, item, before.get(name, NEW), path.below(f".{name}"), work)
    names = schema.get("required", ())
    work.spend(len(names) // _NAMES)
    for name in names:
        if name not in value:
            yield required(str(path.below(f".{name}")))


def _combination_causes(schema: Raw, value: Any, path: Path, work: Work) -> Iterator[Cause]:
    """Return the validation errors of a value by the schemas in `anyOf`, `oneOf`, `allOf` and `not`."""
    any_of, one_of, all_of = (schema.get(name) or () for name in ("anyOf", "oneOf", "allOf"))
    right, nearest = _tried(any_of, value, path, work, enough=1)
    if any_of and not right:
        yield _against(path, "must validate at least one schema (anyOf)")
        yield from nearest
    right, nearest = _tried(one_of, value, path, work)
    if one_of and right != 1:
        found = f"Found {right} valid alternatives" if right else "Found none valid"
        yield _against(path, f"must validate one and only one schema (oneOf). {found}")
        yield from nearest
    wrong, reported = 0, set()
    for other in all_of:
        first = None
        for first in schema_causes(other, value, NEW, path, work):
            if first not in reported:  # a cause that two schemas find is reported once
                yield first
            reported.add(first)
        wrong += first is not None
    if wrong:
        none = ". None validated" if wrong == len(all_of) else ""
        whole = _against(path, f"must validate all the schemas (allOf){none}")
        yield from () if whole in reported else (whole,)
    if schema.get("not") and next(schema_causes(schema["not"], value, NEW, path, work), None) is None:
        yield _against(path, "must not validate the schema (not)")


def _tried(
    schemas: Sequence[Raw], value: Any, path: Path, work: Work, *, enough: int | None = None
) -> tuple[int, list[Cause]]:
    """Return how many schemas accept a value, and the causes of the schema that finds the fewest.

    Args:
        schemas: The schemas to try.
        value: The value as it is to be stored.
        path: The path of the value.
        work: The computation so far, which is limited.
        enough: Stop once so many schemas accept the value.
    """
    right, nearest = 0, None
    for schema in schemas:
        wrong = list(itertools.islice(schema_causes(schema, value, NEW, path, work), MOST_TOLD))
        right += not wrong
        if nearest is None or len(wrong) < len(nearest):
            nearest = wrong
        if right == enough:
            break
    return right, nearest or []


def _against(path: Path, text: str) -> Cause:
    return Cause("FieldValueInvalid", f'Invalid value: "": "{path}" {text}', NOWHERE)
