# SPDX-License-Identifier: Apache-2.0
"""Calls that have code of their own: comparisons, matches, and elements of lists and maps."""

from __future__ import annotations

from collections.abc import Callable

from embedded_apiserver.cel.code import Code, Frame
from embedded_apiserver.cel.equality import equal
from embedded_apiserver.cel.errors import InstantiationError
from embedded_apiserver.cel.meter import current_meter
from embedded_apiserver.cel.operators import item
from embedded_apiserver.cel.optionals import indexed
from embedded_apiserver.cel.syntax import Call
from embedded_apiserver.cel.types import Kind
from embedded_apiserver.cel.values import Value
from embedded_apiserver.cel.work import searching_list
from embedded_apiserver.patterns import NoPattern

_SCALAR = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.INT, Kind.UINT, Kind.DURATION, Kind.TIMESTAMP})
_PLAIN = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.INT, Kind.UINT, Kind.STRING, Kind.DURATION, Kind.TIMESTAMP})
_SHORT = 10


def _equality(node: Call, operands: list[Code]) -> Code | None:
    """Return a comparison of scalars or texts of one type without looking at their types."""
    left, right = node.operands
    if left.type.kind not in _PLAIN or left.type.kind is not right.type.kind:
        return None
    one, other = operands
    positive = node.function == "_==_"
    is_short = any(code.literal and isinstance(code.value, str) and 0 < len(code.value) <= _SHORT for code in operands)
    if left.type.kind not in _SCALAR and not is_short:
        return None
    first, second, cost = one.run, other.run, one.cost + other.cost + 1
    if other.literal:
        fixed = other.value
        if positive:
            return Code(lambda frame: first(frame) == fixed, cost)
        return Code(lambda frame: first(frame) != fixed, cost)
    if positive:
        return Code(lambda frame: first(frame) == second(frame), cost)
    return Code(lambda frame: first(frame) != second(frame), cost)


_ORDERS: dict[str, Callable[[Code, Code], Callable[[Frame], Value]]] = {
    "_<_": lambda one, other: (lambda first, second: lambda frame: first(frame) < second(frame))(one.run, other.run),
    "_<=_": lambda one, other: (lambda first, second: lambda frame: first(frame) <= second(frame))(one.run, other.run),
    "_>_": lambda one, other: (lambda first, second: lambda frame: first(frame) > second(frame))(one.run, other.run),
    "_>=_": lambda one, other: (lambda first, second: lambda frame: first(frame) >= second(frame))(one.run, other.run),
}


def _order(node: Call, operands: list[Code]) -> Code | None:
    """Return a comparison of two integers."""
    if any(operand.type.kind is not Kind.INT for operand in node.operands):
        return None
    one, other = operands
    return Code(_ORDERS[node.function](one, other), one.cost + other.cost + 1)


def _membership(node: Call, operands: list[Code]) -> Code | None:
    """Return the search in a list of literals, which a real API server makes a set of: it costs nothing."""
    one, other = operands
    if not other.literal or not isinstance(other.value, list):
        return None
    read, fixed = one.run, other.value
    if all(type(element) is str for element in fixed):
        texts = frozenset(fixed)
        return Code(lambda frame: _is_text_in(read(frame), texts), one.cost)

    def run(frame: Frame) -> Value:
        element = read(frame)
        searching_list(frame.meter, (element, fixed))
        return any(equal(element, fixed_one) for fixed_one in fixed)

    return Code(run, one.cost)


def _is_text_in(value: Value, texts: frozenset[str]) -> bool:
    return type(value) is str and value in texts


def _match(node: Call, operands: list[Code]) -> Code | None:
    """Return a match of a regular expression that is compiled once."""
    one, other = operands
    if not other.literal or node.operands[0].type.kind is not Kind.STRING or not isinstance(other.value, str):
        return None
    try:
        pattern = current_meter().pattern(other.value)
    except NoPattern:
        return None
    read, quarter = one.run, -(-len(other.value) // 4)
    is_member = node.target is not None

    def run(frame: Frame) -> Value:
        text = read(frame)
        frame.meter.spend(pattern.steps(len(text)))
        frame.charge(-(-(1 + len(text)) // 10) * quarter if is_member else 1)
        return pattern.matches(text)

    return Code(run, one.cost)


def _search(node: Call, operands: list[Code]) -> None:
    """Refuse an invalid pattern before the first evaluation, as a real API server does."""
    if operands[1].literal and isinstance(operands[1].value, str):
        try:
            current_meter().pattern(operands[1].value)
        except NoPattern as error:
            raise InstantiationError(str(error)) from None


def _item(node: Call, operands: list[Code]) -> Code:
    """Return an element, whatever it is an element of; the function tells them apart."""
    found, (one, other) = indexed if node.function == "_[?_]" else item, operands
    first, second, cost = one.run, other.run, one.cost + other.cost + 1
    if other.literal:
        fixed = other.value
        return Code(lambda frame: found(first(frame), fixed), cost)
    return Code(lambda frame: found(first(frame), second(frame)), cost)


SPECIAL: dict[str, Callable[[Call, list[Code]], Code | None]] = {
    "_==_": _equality,
    "_!=_": _equality,
    "_<_": _order,
    "_<=_": _order,
    "_>_": _order,
    "_>=_": _order,
    "@in": _membership,
    "matches": _match,
    "find": _search,
    "findAll": _search,
    "_[_]": _item,
    "_[?_]": _item,
}
TRUSTING = (_equality, _order, _match)
"""The calls that trust the types that the checker found."""
