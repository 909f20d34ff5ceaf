# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' functions of lists."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

from embedded_apiserver.cel import types, work
from embedded_apiserver.cel.declarations import Function, Library, Overload
from embedded_apiserver.cel.equality import compared, equal
from embedded_apiserver.cel.errors import EvaluationError, no_such_overload
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.numbers import as_duration, as_int, as_uint
from embedded_apiserver.cel.types import Type, list_of, parameter
from embedded_apiserver.cel.values import Duration, Uint, Value

_A = parameter("A")
_SUMMED = {"int": types.INT, "uint": types.UINT, "double": types.DOUBLE, "duration": types.DURATION}
COMPARED = {
    **_SUMMED,
    "bool": types.BOOL,
    "timestamp": types.TIMESTAMP,
    "string": types.STRING,
    "bytes": types.BYTES,
}
ORDER = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS: dict[str, Value] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}


def _is_sorted(values: list[Value]) -> bool:
    return all(_order(one, other) != 1 for one, other in itertools.pairwise(values))


def _order(one: Value, other: Value) -> int:
    """Return -1, 0 or 1 as `compared` does, and 0 for values without an order."""
    try:
        return compared(one, other)
    except EvaluationError:
        return 0


def _sum_from(zero: Value) -> Callable[[list[Value]], Value]:
    def total(values: list[Value]) -> Value:
        return functools.reduce(_plus, values, zero)

    return total


def _plus(one: Value, other: Value) -> Value:
    if type(one) is not type(other):
        raise no_such_overload()
    if isinstance(one, Duration):
        return as_duration(one.nanoseconds + other.nanoseconds)
    if isinstance(one, Uint):
        return as_uint(one + other)
    return one + other if isinstance(one, float) else as_int(one + other)


def _best(name: str, preferred: int) -> Callable[[list[Value]], Value]:
    def best(values: list[Value]) -> Value:
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        return functools.reduce(lambda one, other: other if _order(one, other) == preferred else one, values)

    return best


def _index_of(values: list[Value], wanted: Value) -> int:
    return next((index for index, value in enumerate(values) if equal(value, wanted)), -1)


def _last_index_of(values: list[Value], wanted: Value) -> int:
    return next((index for index in range(len(values) - 1, -1, -1) if equal(values[index], wanted)), -1)


def _each(name: str, call: Callable[..., Value], ordered: Sequence[str], result: Type | None = None) -> Function:
    """Return a method of lists, with an overload for each type of elements that it accepts."""
    made = tuple(
        Overload(
            f"list_{type_}_{_ID[name]}_{'bool' if result else type_}",
            (list_of(COMPARED[type_]),),
            result or COMPARED[type_],
            _sum_from(_ZEROS[type_]) if name == "sum" else call,
            member=True,
            cost=costs.list_read,
            estimate=costs.list_read_estimate,
            work=work.walking,
        )
        for type_ in ordered
    )
    return Function(name, made)


_ID = {"isSorted": "is_sorted", "sum": "sum", "max": "max", "min": "min"}


def _found(name: str, id_: str, call: Callable[..., Value]) -> Function:
    made = Overload(
        id_,
        (list_of(_A), _A),
        types.INT,
        call,
        member=True,
        cost=costs.list_read,
        estimate=costs.list_read_estimate,
        work=work.walking,
    )
    return Function(name, (made,))


LISTS = Library(
    (
        _each("isSorted", _is_sorted, ORDER, types.BOOL),
        _each("sum", _is_sorted, tuple(_SUMMED)),
        _each("max", _best("max", -1), ORDER),
        _each("min", _best("min", 1), ORDER),
        _found("indexOf", "list_a_index_of_int", _index_of),
        _found("lastIndexOf", "list_a_last_index_of_int", _last_index_of),
    )
)
"""Kubernetes' functions of lists."""
