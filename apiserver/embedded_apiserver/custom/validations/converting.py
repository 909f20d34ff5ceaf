# SPDX-License-Identifier: Apache-2.0
"""Converts JSON to the values of CEL expressions, where a schema requires it.

Most values are those of JSON, and are not touched. Whole numbers of a field for any number become doubles, dates and
durations become values of their own types, and lists that are sets or maps are compared as such.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any

from embedded_apiserver.cel import times
from embedded_apiserver.cel.equality import equal
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.values import Duration, Lists, Timestamp, Value
from embedded_apiserver.kinds.definition import Raw

Convert = Callable[[Any], Value]
_UNITS = {
    "ns": 1, "nano": 1, "us": 10**3, "µs": 10**3, "micro": 10**3, "ms": 10**6, "milli": 10**6, "s": 10**9,
    "sec": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "hr": 3600 * 10**9, "hour": 3600 * 10**9,
    "d": 86400 * 10**9, "day": 86400 * 10**9, "w": 7 * 86400 * 10**9, "week": 7 * 86400 * 10**9,
}  # fmt: skip
_SPAN = re.compile(r"(\d+)\s*([A-Za-zµ]+)")


class SetList(Lists):
    """A list of type `set`: its elements are unique, and their order is ignored."""

    __slots__ = ()
    is_pairwise = True

    def equals(self, other: Value) -> bool:
        """Return whether another list has equal elements, in any order."""
        return len(self) == len(other) and all(any(equal(one, mine) for mine in self) for one in other)

    def plus(self, other: list[Value]) -> list[Value]:
        """Return this list with those elements of `other` appended that it does not have."""
        made = SetList(self)
        for one in other:
            if not any(equal(one, mine) for mine in made):
                made.append(one)
        return made


class MapList(Lists):
    """A list of type `map`: its elements have unique keys, and their order is ignored.

    Attributes:
        keys: The names of the key fields.
    """

    __slots__ = ("keys",)

    def __init__(self, elements: list[Value], keys: tuple[str, ...]) -> None:
        super().__init__(elements)
        self.keys = keys

    def equals(self, other: Value) -> bool:
        """Return whether another list has equal elements with the same keys, in any order."""
        if len(self) != len(other):
            return False
        mine = {self._key(one): one for one in self}
        return all(self._key(one) in mine and equal(mine[self._key(one)], one) for one in other)

    def plus(self, other: list[Value]) -> list[Value]:
        """Return this list with the elements of `other`, which replace elements with the same keys."""
        places = {self._key(one): index for index, one in enumerate(self)}
        made = MapList(self, self.keys)
        for one in other:
            place = places.get(self._key(one))
            if place is None:
                made.append(one)
            else:
                made[place] = one
        return made

    def _key(self, element: Value) -> tuple[Any, ...]:
        return tuple(str(element.get(key)) for key in self.keys) if isinstance(element, dict) else ()


def converter(schema: Raw) -> Convert | None:
    """Return a function that converts JSON values of a schema to CEL values; None if they are the same."""
    if schema.get("x-kubernetes-int-or-string"):
        return None
    match schema.get("type"):
        case "number":
            return _double
        case "string":
            return _FORMATS.get(schema.get("format", ""))
        case "array":
            return _of_list(schema)
        case "object":
            return _of_object(schema)
    return None


def _double(value: Any) -> Value:
    return float(value) if type(value) is int else value


def _timestamp(value: Any) -> Value:
    try:
        return times.timestamp(value.upper()) if isinstance(value, str) else value
    except EvaluationError:
        return value


def _date(value: Any) -> Value:
    made = _timestamp(f"{value}T00:00:00Z")
    return made if isinstance(made, Timestamp) else value


def _duration(value: Any) -> Value:
    if not isinstance(value, str):
        return value
    try:
        return times.duration(value)
    except EvaluationError:
        parts = [(int(number), unit.lower().rstrip("s") or "s") for number, unit in _SPAN.findall(value)]
        known = [number * _UNITS[unit] for number, unit in parts if unit in _UNITS]
        return Duration(sum(known)) if known else value


def _bytes(value: Any) -> Value:
    try:
        return base64.b64decode(value) if isinstance(value, str) else value
    except binascii.Error:
        return value


_FORMATS: Mapping[str, Convert] = {"byte": _bytes, "date": _date, "date-time": _timestamp, "duration": _duration}


def _of_list(schema: Raw) -> Convert | None:
    items = schema.get("items")
    inner = converter(items) if isinstance(items, Mapping) else None
    kind, keys = schema.get("x-kubernetes-list-type"), tuple(schema.get("x-kubernetes-list-map-keys") or ())
    if inner is None and kind not in ("set", "map"):
        return None

    def convert(value: Any) -> Value:
        if not isinstance(value, list):
            return value
        made = value if inner is None else [None if item is None else inner(item) for item in value]
        if kind == "set":
            return SetList(made)
        return MapList(made, keys) if kind == "map" else made

    return convert


def _of_object(schema: Raw) -> Convert | None:
    values, properties = schema.get("additionalProperties"), schema.get("properties", {})
    if isinstance(values, Mapping):
        return _of_entries(converter(values))
    inner = {name: made for name, child in properties.items() if (made := converter(child)) is not None}
    nullable = frozenset(name for name, child in properties.items() if child.get("nullable"))
    if not inner and not nullable:
        return None

    def convert(value: Any) -> Value:
        if not isinstance(value, dict):
            return value
        made = dict(value)
        for name in nullable:  # a field that is null is one that is not there
            if name in made and made[name] is None:
                del made[name]
        for name, of_field in inner.items():
            if made.get(name) is not None:
                made[name] = of_field(made[name])
        return made

    return convert


def _of_entries(inner: Convert | None) -> Convert | None:
    if inner is None:
        return None

    def convert(value: Any) -> Value:
        if not isinstance(value, dict):
            return value
        return {key: None if item is None else inner(item) for key, item in value.items()}

    return convert
