# SPDX-License-Identifier: Apache-2.0
"""Equality of values of any types, and the order of those that have one.

Numbers are equal across their types, and true is not 1, unlike in Python.
"""

from __future__ import annotations

import math

from embedded_apiserver.cel.errors import EvaluationError, no_such_overload
from embedded_apiserver.cel.values import Duration, Lists, Optional, Timestamp, Uint, Value

_NUMBERS = (int, float, Uint)
_SIMPLE = frozenset({str, int, float, bool, type(None), bytes, Uint, Duration, Timestamp})


def equal(one: Value, other: Value) -> bool:
    """Return whether two values are equal. Values of different types are not, except numbers: an integer is
    converted to a floating-point number before it is compared with one.
    """
    kind, against = type(one), type(other)
    if kind is against and kind in _SIMPLE:
        return bool(one == other)
    if kind is bool or against is bool:
        return False
    if isinstance(one, list):
        return _equal_lists(one, other)
    if isinstance(one, dict):
        return _equal_maps(one, other)
    if kind in _NUMBERS and against in _NUMBERS:
        return not (_is_nan(one) or _is_nan(other)) and _ordered(one, other) == 0
    if isinstance(one, Optional):
        if not isinstance(other, Optional) or one.present is not other.present:
            return False
        return not one.present or equal(one.value, other.value)
    return bool(one == other)


def _equal_lists(one: list[Value], other: Value) -> bool:
    if not isinstance(other, list):
        return False
    if isinstance(one, Lists):
        return one.equals(other)
    if isinstance(other, Lists):
        return other.equals(one)
    return len(one) == len(other) and all(map(equal, one, other))


def _equal_maps(one: dict[Value, Value], other: Value) -> bool:
    if not isinstance(other, dict) or len(one) != len(other):
        return False
    return all(key in other and equal(value, other[key]) for key, value in one.items())


def contains(element: Value, within: list[Value]) -> bool:
    """Return whether the list `within` contains a value that is equal to `element`."""
    if type(element) is str:
        return element in within
    return any(equal(element, other) for other in within)


def has_key(key: Value, within: dict[Value, Value]) -> bool:
    """Return whether the map `within` has a key that is equal to `key`."""
    if type(key) is str:
        return key in within
    return isinstance(key, (int, float)) and found_key(key, within) is not None


def found_key(key: Value, within: dict[Value, Value]) -> Value:
    """Return the key of the map `within` that is equal to `key`, which is not a string; None if there is none."""
    try:
        if key not in within:
            return None
    except TypeError:  # a list or a map is no key
        return None
    if type(key) is not bool and key not in (0, 1):
        return key
    return next((found for found in within if found == key and (type(found) is bool) is (type(key) is bool)), None)


def compared(one: Value, other: Value) -> int:
    """Return -1, 0 or 1 if `one` is less than, equal to, or greater than `other`.

    Raises:
        EvaluationError: The values have no order.
    """
    kind, against = type(one), type(other)
    if kind in _NUMBERS and against in _NUMBERS:
        if _is_nan(one) or _is_nan(other):
            raise EvaluationError("NaN values cannot be ordered")
        return _ordered(one, other)
    if kind is not against:
        raise no_such_overload()
    if kind is str or kind is bytes or kind is bool:
        return int(one > other) - int(one < other)
    if kind is Duration or kind is Timestamp:
        return int(one.nanoseconds > other.nanoseconds) - int(one.nanoseconds < other.nanoseconds)
    raise no_such_overload()


def _is_nan(value: Value) -> bool:
    return type(value) is float and math.isnan(value)


def _ordered(one: Value, other: Value) -> int:
    """Return the order of two numbers; within the integers' range, those of different types are compared as doubles."""
    if type(one) is float and type(other) is not float:
        least, most = (0.0, 2.0**64) if type(other) is Uint else (-(2.0**63), 2.0**63)
        if least <= one <= most:
            other = float(other)
    elif type(other) is float and type(one) is not float:
        return -_ordered(other, one)
    return int(one > other) - int(one < other)
