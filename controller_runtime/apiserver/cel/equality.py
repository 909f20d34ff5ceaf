# SPDX-License-Identifier: Apache-2.0
"""Equality of values of any types, and the order of those that have one.

Numbers are equal across their types, and true is not 1, unlike in Python.
"""

from __future__ import annotations

import math

from controller_runtime.apiserver.cel.errors import EvaluationError, no_such_overload
from controller_runtime.apiserver.cel.values import Duration, Lists, Optional, Timestamp, Uint, Value

_NUMBERS = (int, float, Uint)
_SIMPLE = frozenset({str, int, float, bool, type(None), bytes, Uint, Duration, Timestamp})


def equal(one: Value, other: Value) -> bool:
    """Return whether two values are equal; those of different types are not, and numbers are compared exactly."""
    kind, against = type(one), type(other)
    if kind is against and kind in _SIMPLE:
        return bool(one == other)
    if kind is bool or against is bool:
        return False
    if isinstance(one, list):
        return _equal_lists(one, other)
    if isinstance(one, dict):
        return _equal_maps(one, other)
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
    for key, value in one.items():
        if key not in other or not equal(value, other[key]):
            return False
    return True


def contains(element: Value, within: list[Value]) -> bool:
    """Return whether a list contains a value."""
    if type(element) is str:
        return element in within
    return any(equal(element, other) for other in within)


def has_key(key: Value, within: dict[Value, Value]) -> bool:
    """Return whether a map has a key."""
    if type(key) is str:
        return key in within
    return isinstance(key, (int, float)) and found_key(key, within) is not None


def found_key(key: Value, within: dict[Value, Value]) -> Value:
    """Return the key of a map that equals a value, which is no string; None if there is none."""
    try:
        if key not in within:
            return None
    except TypeError:  # a list or a map is no key
        return None
    if type(key) is not bool and key not in (0, 1):
        return key
    return next((found for found in within if found == key and (type(found) is bool) is (type(key) is bool)), None)


def compared(one: Value, other: Value) -> int:
    """Return -1, 0 or 1 for a value that is less than, equal to, or greater than another.

    Raises:
        EvaluationError: They have no order.
    """
    kind, against = type(one), type(other)
    if kind in _NUMBERS and against in _NUMBERS:
        if (kind is float and math.isnan(one)) or (against is float and math.isnan(other)):
            raise EvaluationError("NaN values cannot be ordered")
        return (one > other) - (one < other)
    if kind is not against:
        raise no_such_overload()
    if kind is str or kind is bytes or kind is bool:
        return (one > other) - (one < other)
    if kind is Duration or kind is Timestamp:
        return (one.nanoseconds > other.nanoseconds) - (one.nanoseconds < other.nanoseconds)
    raise no_such_overload()
