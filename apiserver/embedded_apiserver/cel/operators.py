# SPDX-License-Identifier: Apache-2.0
"""The operators of the language."""

from __future__ import annotations

import operator
from collections.abc import Callable

from embedded_apiserver.cel import costs, numbers, times, types, work
from embedded_apiserver.cel.declarations import Function, Overload
from embedded_apiserver.cel.equality import compared, contains, equal, found_key, has_key
from embedded_apiserver.cel.errors import EvaluationError, no_such_overload
from embedded_apiserver.cel.optionals import indexed, list_place
from embedded_apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
)
from embedded_apiserver.cel.values import Lists, Optional, Uint, Value

_A = types.parameter("A")
_B = types.parameter("B")
_LIST = types.list_of(_A)
_MAP = types.map_of(_A, _B)
_ORDERED = (
    ("bool", BOOL, BOOL), ("int64", INT, INT), ("int64_double", INT, DOUBLE), ("int64_uint64", INT, UINT),
    ("uint64", UINT, UINT), ("uint64_double", UINT, DOUBLE), ("uint64_int64", UINT, INT), ("double", DOUBLE, DOUBLE),
    ("double_int64", DOUBLE, INT), ("double_uint64", DOUBLE, UINT), ("string", STRING, STRING), ("bytes", BYTES, BYTES),
    ("timestamp", TIMESTAMP, TIMESTAMP), ("duration", DURATION, DURATION),
)  # fmt: skip


def key_text(key: Value) -> str:
    """Return the text of a map key for error messages."""
    return key if type(key) is str else ("true" if key else "false") if type(key) is bool else str(key)


def item(operand: Value, index: Value) -> Value:
    """Return the element of a list at an index, or the value of a map for a key; for an optional, see `indexed`.

    Raises:
        EvaluationError: There is no such element or key.
    """
    if isinstance(operand, dict):
        if type(index) is str:
            if index in operand:
                return operand[index]
        else:
            key = found_key(index, operand)
            if key is not None:
                return operand[key]
        raise EvaluationError(f"no such key: {key_text(index)}")
    if isinstance(operand, list):
        place = list_place(index)
        if 0 <= place < len(operand):
            return operand[place]
        raise EvaluationError(f"index out of bounds: {place}")
    if isinstance(operand, Optional):
        return indexed(operand, index)
    raise no_such_overload()


def _plus_lists(one: list[Value], other: list[Value]) -> list[Value]:
    return one.plus(other) if isinstance(one, Lists) else [*one, *other]


def _not_equal(one: Value, other: Value) -> bool:
    return not equal(one, other)


def _ordered(name: str, prefix: str, holds: Callable[[int], bool]) -> Function:
    """Return a comparison of all types that have an order."""

    def call(one: Value, other: Value) -> bool:
        return holds(compared(one, other))

    reads = ("string", "bytes")
    return Function(
        name,
        tuple(
            Overload(
                f"{prefix}_{suffix}",
                (one, other),
                BOOL,
                call,
                cost=costs.compares if suffix in reads else None,
                estimate=costs.estimated_comparison if suffix in reads else None,
                work=work.comparing if suffix in reads else None,
            )
            for suffix, one, other in _ORDERED
        ),
    )


def _same(id: str, of: Type, call: Callable[..., Value]) -> Overload:  # noqa: A002
    """Return an overload of two operands whose result is of their type."""
    return Overload(id, (of, of), of, call)


def _joined(id: str, of: Type) -> Overload:  # noqa: A002
    return Overload(id, (of, of), of, operator.add, cost=costs.joins, estimate=costs.estimated_join, work=work.joining)


def _uint_less(one: int, other: int) -> Uint:
    return numbers.as_uint(int(one) - int(other))


_ADD = (
    _joined("add_bytes", BYTES),
    _same("add_double", DOUBLE, operator.add),
    _same("add_duration_duration", DURATION, lambda a, b: numbers.as_duration(a.nanoseconds + b.nanoseconds)),
    Overload("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP, lambda a, b: times.plus(b, a)),
    Overload("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, times.plus),
    _same("add_int64", INT, lambda a, b: numbers.as_int(a + b)),
    Overload("add_list", (_LIST, _LIST), _LIST, _plus_lists, estimate=costs.estimated_list_join, work=work.joining),
    _joined("add_string", STRING),
    _same("add_uint64", UINT, lambda a, b: numbers.as_uint(int(a) + int(b))),
)
_SUBTRACT = (
    _same("subtract_double", DOUBLE, operator.sub),
    _same("subtract_duration_duration", DURATION, lambda a, b: numbers.as_duration(a.nanoseconds - b.nanoseconds)),
    _same("subtract_int64", INT, lambda a, b: numbers.as_int(a - b)),
    Overload("subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, times.minus),
    Overload("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION, times.between),
    _same("subtract_uint64", UINT, _uint_less),
)
_NEGATE = (
    Overload("negate_double", (DOUBLE,), DOUBLE, operator.neg),
    Overload("negate_int64", (INT,), INT, lambda a: numbers.as_int(-a)),
)
_EQUALS = Overload(
    "equals", (_A, _A), BOOL, equal, cost=costs.equates, estimate=costs.estimated_equality, work=work.comparing
)
_DIFFERS = Overload(
    "not_equals",
    (_A, _A),
    BOOL,
    _not_equal,
    cost=costs.compares,
    estimate=costs.estimated_comparison,
    work=work.comparing,
)
_IN_LIST = Overload(
    "in_list",
    (_A, _LIST),
    BOOL,
    contains,
    cost=costs.searches_list,
    estimate=costs.estimated_list_search,
    work=work.searching_list,
)


def _uncompiled(*arguments: Value) -> Value:
    raise AssertionError("compiled in a way of its own")


OPERATORS = (
    Function("_?_:_", (Overload("conditional", (BOOL, _A, _A), _A, _uncompiled),)),
    Function("_&&_", (Overload("logical_and", (BOOL, BOOL), BOOL, _uncompiled),)),
    Function("_||_", (Overload("logical_or", (BOOL, BOOL), BOOL, _uncompiled),)),
    Function("@not_strictly_false", (Overload("not_strictly_false", (BOOL,), BOOL, _uncompiled),)),
    Function("!_", (Overload("logical_not", (BOOL,), BOOL, operator.not_),)),
    Function("_==_", (_EQUALS,)),
    Function("_!=_", (_DIFFERS,)),
    Function("_+_", _ADD),
    Function("_-_", _SUBTRACT),
    Function(
        "_*_",
        (
            _same("multiply_double", DOUBLE, operator.mul),
            _same("multiply_int64", INT, lambda a, b: numbers.as_int(a * b)),
            _same("multiply_uint64", UINT, lambda a, b: numbers.as_uint(int(a) * int(b))),
        ),
    ),
    Function(
        "_/_",
        (
            _same("divide_double", DOUBLE, numbers.ratio),
            _same("divide_int64", INT, numbers.quotient),
            _same("divide_uint64", UINT, lambda a, b: Uint(numbers.quotient(int(a), int(b)))),
        ),
    ),
    Function(
        "_%_",
        (
            _same("modulo_int64", INT, numbers.remainder),
            _same("modulo_uint64", UINT, lambda a, b: Uint(numbers.remainder(int(a), int(b)))),
        ),
    ),
    Function("-_", _NEGATE),
    _ordered("_<_", "less", lambda order: order < 0),
    _ordered("_<=_", "less_equals", lambda order: order <= 0),
    _ordered("_>_", "greater", lambda order: order > 0),
    _ordered("_>=_", "greater_equals", lambda order: order >= 0),
    Function("_[_]", (Overload("index_list", (_LIST, INT), _A, item), Overload("index_map", (_MAP, _A), _B, item))),
    Function("@in", (_IN_LIST, Overload("in_map", (_A, _MAP), BOOL, has_key, work=work.free))),
)
