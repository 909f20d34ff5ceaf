# SPDX-License-Identifier: Apache-2.0
"""The declared states that differ from another state by one change, within a structural schema.

Where the schema says nothing, as for built-in kinds and below `x-kubernetes-preserve-unknown-fields`, the changes
follow from the present values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import json

Schema = Mapping[str, Any]
"""A structural schema, or a part of one; empty if nothing is known."""

_MOST = 2_000  # neighbours of one state: those of a schema as large as a pod's would take long to list
_DEPTH = 4  # objects within each other in a value that is made up
_TEXTS = {
    "date-time": ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
    "date": ("2026-01-01", "2026-01-02"),
    "uuid": ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"),
    "byte": ("YQ==", "Yg=="),
    "duration": ("1s", "1m0s"),
    "ipv4": ("192.0.2.1", "192.0.2.2"),
}
_COUNTED = re.compile(r"(\d{1,9})(\D.*|)", re.DOTALL)


def neighbours(schema: Schema, state: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Return states that differ from `state` by one change: one field, or one element of a list or a map.

    At most 2,000 changes are tried, because a schema as large as a pod's would take long. Numbers are set to their
    bounds, and up and down by one step; optional fields are set and unset; elements are added, removed and reversed.
    CEL rules and keys of lists are ignored, so a server may refuse some of the states.

    Args:
        schema: The schema of `state`.
        state: A declared state.
    """
    seen = {json.encode(state)}
    found = []
    for each in islice(_variants(schema, state), _MOST):
        if (text := json.encode(each)) not in seen:
            seen.add(text)
            found.append(each)
    return found


def examples(schema: Schema, depth: int = 0) -> list[Any]:
    """Return values for a field that is not set, the simplest first; empty if no value is known to be valid.

    Args:
        schema: The schema of the field.
        depth: The number of made-up objects that contain the field.
    """
    given = [schema["default"]] if "default" in schema else []
    if "enum" in schema:
        return [*given, *[value for value in schema["enum"] if value is not None and value not in given]]
    match _type_of(schema, None):
        case "boolean":
            return [True, False]
        case "integer" | "number" as kind:
            return [*given, *_numbers(schema, kind, 1)]
        case "string":
            return [*given, *_texts(schema, "")]
        case "array" if depth < _DEPTH:
            items = examples(schema.get("items", {}), depth + 1)
            count = max(schema.get("minItems", 0), 1)
            return [*given, *[[item] * count for item in items[:1]], *([] if schema.get("minItems") else [[]])]
        case "object" if depth < _DEPTH:
            return [*given, *_made_up(schema, depth)]
        case _:
            return given


def _made_up(schema: Schema, depth: int) -> list[dict[str, Any]]:
    """Return an object with the required fields only, and one with a value in each field that is not an object."""
    if "properties" not in schema:
        values = examples(schema.get("additionalProperties") or {"type": "string"}, depth + 1)
        return [*[{"a": value} for value in values[:1]], {}]
    least, full = {}, {}
    for name, field in schema["properties"].items():
        values = examples(field, depth + 1)
        if name in schema.get("required", ()):
            if not values:
                return []
            least[name] = full[name] = values[0]
        elif values and not isinstance(values[0], dict):
            full[name] = values[0]
    return [least] if full == least else [least, full]


def _variants(schema: Schema, value: Any) -> Iterator[Any]:
    """Yield the values that differ from `value` by one change; it may yield `value` itself, too."""
    if "enum" in schema:
        yield from (each for each in schema["enum"] if each is not None)
        return
    match value:
        case bool():
            yield not value
        case int() | float():
            yield from _numbers(schema, "integer" if isinstance(value, int) else "number", value)
        case str():
            yield from _texts(schema, value)
        case list():
            yield from _lists(schema, value)
        case dict():
            yield from _objects(schema, value)


def _objects(schema: Schema, value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    fields: Schema = schema.get("properties", {})
    others: Schema = schema.get("additionalProperties") or {}
    required = schema.get("required", ())
    for name, part in value.items():
        if name not in required:
            yield {other: each for other, each in value.items() if other != name}
        yield from ({**value, name: each} for each in _variants(fields.get(name, others), part))
    for name, field in fields.items():
        if name not in value:
            yield from ({**value, name: each} for each in examples(field))
    if not fields and (others or (value and all(isinstance(part, str) for part in value.values()))):
        added = next(name for name in ("a", "b", "c", "d", "e", f"a{len(value)}") if name not in value)
        yield from ({**value, added: each} for each in examples(others or {"type": "string"})[:1])


def _lists(schema: Schema, value: list[Any]) -> Iterator[list[Any]]:
    items: Schema = schema.get("items", {})
    if len(value) > schema.get("minItems", 0):
        yield from (value[:index] + value[index + 1 :] for index in range(len(value)))
    if len(value) < schema.get("maxItems", len(value) + 1):
        fresh = [each for each in examples(items) if each not in value]
        changed = [each for last in value[-1:] for each in islice(_variants(items, last), 8) if each not in value]
        yield from ([*value, each] for each in (fresh + changed)[:3])
        yield from ([each, *value] for each in (fresh + changed)[:1])
    yield value[::-1]
    for index, item in enumerate(value):
        yield from ([*value[:index], each, *value[index + 1 :]] for each in _variants(items, item))


def _numbers(schema: Schema, kind: str, value: float) -> Iterator[float]:
    least, most = schema.get("minimum"), schema.get("maximum")
    step = schema.get("multipleOf", 1)
    found = [value + step, value - step, value, 0]
    found += [each for bound in (least, most) if bound is not None for each in (bound, bound + step, bound - step)]
    for each in found:
        number = int(each) if kind == "integer" else each
        if (least is None or number >= least) and (most is None or number <= most) and number % step == 0:
            yield number


def _texts(schema: Schema, value: str) -> Iterator[str]:
    if (known := _TEXTS.get(schema.get("format", ""))) is not None:
        yield from known
        return
    found = []
    if counted := _COUNTED.fullmatch(value):  # such as a quantity
        count, unit = int(counted[1]), counted[2]
        found += [f"{count + 1}{unit}", f"{max(count - 1, 0)}{unit}"]
    found += ["a", "b", f"{value}-a" if value else "c", ""]
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    for text in found:
        fits = least <= len(text) and (most is None or len(text) <= most)
        if fits and ("pattern" not in schema or _matches(schema["pattern"], text)):
            yield text


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text, re.ASCII) is not None
    except re.error:  # written for another engine: the server decides
        return True


def _type_of(schema: Schema, value: Any) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer"
    kind: str = schema.get("type", "")
    return kind
