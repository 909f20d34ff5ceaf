# SPDX-License-Identifier: Apache-2.0
"""The costs of calls of Kubernetes' functions, at run time and in the static estimate.

The estimate decides which rules a definition may have, so each number is that of a real API server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import CallEstimate, Operand
from embedded_apiserver.cel.ranges import UNKNOWN, Range, exactly
from embedded_apiserver.cel.types import Kind
from embedded_apiserver.cel.values import Value

TRAVERSAL = 0.1
"""The cost of one character that is read once."""

PATTERN = 0.25
"""The cost of one character of a regular expression, for each character that it is tried on."""

NEW_LIST = 10
"""The cost of a new list."""

Cost = Callable[[Sequence[Value], Value], int]
Estimate = Callable[[Sequence[Operand]], CallEstimate | None]


def size_of(value: Value) -> int:
    """Return the number of elements, entries, characters or bytes of a value; 1 for values of other types."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    size = getattr(value, "size", 1)
    return size if isinstance(size, int) else 1


def sized(operand: Operand) -> Range:
    """Return the range of an operand's size; if it is unknown, the range of all sizes."""
    return UNKNOWN if operand.size is None else operand.size


def element_size(operand: Operand) -> Range:
    """Return the range of the size of a list's elements."""
    if not operand.type.parameters or not operand.path:
        return UNKNOWN
    most = operand.type.parameters[0].size
    return UNKNOWN if most is None else Range(0, most)


def nominal(_: Sequence[Value], __: Value) -> int:
    """Return 1, the cost of a simple lookup."""
    return 1


def nominal_estimate(_: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost 1 of a simple lookup."""
    return CallEstimate(exactly(1))


def read(factor: float = 1) -> Cost:
    """Return a function that computes the cost of reading the first argument, multiplied by `factor`."""

    def cost(arguments: Sequence[Value], _: Value) -> int:
        return math.ceil(size_of(arguments[0]) * factor * TRAVERSAL)

    return cost


def read_estimate(factor: float = 1, *, is_result: bool = False) -> Estimate:
    """Return a function that estimates the cost of reading the first argument, multiplied by `factor`.

    `is_result` is True if the result has the same size as the argument.
    """

    def estimate(operands: Sequence[Operand]) -> CallEstimate:
        size = sized(operands[0])
        return CallEstimate(size.scaled(factor * TRAVERSAL), size if is_result else None)

    return estimate


def traversal(value: Value) -> int:
    """Return the cost of reading a value with everything nested in it."""
    if isinstance(value, (str, bytes)):
        length = len(value.encode()) if isinstance(value, str) else len(value)
        return int(length * TRAVERSAL)
    if isinstance(value, list):
        return sum(map(traversal, value))
    if isinstance(value, dict):
        return sum(traversal(key) + traversal(item) for key, item in value.items())
    return 1


def list_read(arguments: Sequence[Value], _: Value) -> int:
    """Return the cost of reading the first argument, a list, with everything nested in it."""
    return traversal(arguments[0])


def list_read_estimate(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of reading the first argument, a list or a text."""
    target = operands[0]
    if target.type.kind is not Kind.LIST:
        return CallEstimate(sized(target).scaled(TRAVERSAL))
    each = exactly(1)
    if target.type.parameters[0].kind in (Kind.STRING, Kind.BYTES):
        each = each.plus(element_size(target).scaled(TRAVERSAL))
    return CallEstimate(sized(target).times(each))


def new_list(factor: float, size: int) -> int:
    """Return the cost of a call that creates a list of `size` elements, `factor` for each element."""
    return int(size * factor) + 1 + NEW_LIST


def new_list_estimate(factor: float, size: Range) -> CallEstimate:
    """Return the estimated cost of a call that creates a list, and the size of the list.

    Args:
        factor: The cost for each element.
        size: The least and the greatest number of elements.
    """
    return CallEstimate(size.scaled(factor).plus(exactly(1 + NEW_LIST)), size)


def whole_number(operand: Operand, default: int) -> int:
    """Return the value of a literal integer, or 0 if it is negative; `default` for other operands."""
    if type(operand.literal) is not int or operand.type != types.INT:
        return default
    return max(operand.literal, 0)
