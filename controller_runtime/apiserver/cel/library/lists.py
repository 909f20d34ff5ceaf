# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' functions of lists, and those of cel-go's list library."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

from controller_runtime.apiserver.cel import types
from controller_runtime.apiserver.cel.declarations import CallEstimate, Function, Library, Operand, Overload
from controller_runtime.apiserver.cel.equality import compared, equal
from controller_runtime.apiserver.cel.errors import EvaluationError, no_such_overload
from controller_runtime.apiserver.cel.library import costs
from controller_runtime.apiserver.cel.numbers import as_duration, as_int, as_uint
from controller_runtime.apiserver.cel.ranges import MOST, exactly
from controller_runtime.apiserver.cel.types import Kind, Type, list_of, parameter
from controller_runtime.apiserver.cel.values import Duration, Uint, Value, type_of

_A, _T = parameter("A"), parameter("T")
_SUMMED = {"int": types.INT, "uint": types.UINT, "double": types.DOUBLE, "duration": types.DURATION}
_COMPARED = {
    **_SUMMED,
    "bool": types.BOOL,
    "timestamp": types.TIMESTAMP,
    "string": types.STRING,
    "bytes": types.BYTES,
}
_ORDER = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS: dict[str, Value] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_LONGEST_RANGE = 1_000_000  # a real server cancels a call that costs more


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
    """Return a method of lists of each type that has an order, or a sum."""
    made = tuple(
        Overload(
            f"list_{type_}_{_ID[name]}_{'bool' if result else type_}",
            (list_of(_COMPARED[type_]),),
            result or _COMPARED[type_],
            _sum_from(_ZEROS[type_]) if name == "sum" else call,
            member=True,
            cost=costs.list_read,
            estimate=costs.list_read_estimate,
        )
        for type_ in ordered
    )
    return Function(name, made)


_ID = {"isSorted": "is_sorted", "sum": "sum", "max": "max", "min": "min"}


def _found(name: str, id_: str, call: Callable[..., Value]) -> Function:
    made = Overload(
        id_, (list_of(_A), _A), types.INT, call, member=True, cost=costs.list_read, estimate=costs.list_read_estimate
    )
    return Function(name, (made,))


def _slice(values: list[Value], start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        text = "start index must be less than or equal to end index"
        raise EvaluationError(f"cannot slice({start}, {end}), {text}")
    if len(values) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return list(values[start:end])


def _flattened(values: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    made = list(values)
    while depth and any(isinstance(value, list) for value in made):
        made = [item for value in made for item in (value if isinstance(value, list) else [value])]
        depth -= 1
    return made


def _sorted_by(values: list[Value], keys: list[Value]) -> list[Value]:
    if len(values) != len(keys):
        text = "@sortByAssociatedKeys() expected a list of the same size as the associated keys list"
        raise EvaluationError(f"{text}, but got {len(values)} and {len(keys)} elements respectively")
    if keys and type_of(keys[0]) not in _COMPARED.values():
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")

    def order(one: tuple[Value, Value], other: tuple[Value, Value]) -> int:
        return compared(one[0], other[0])

    return [value for _, value in sorted(zip(keys, values, strict=True), key=functools.cmp_to_key(order))]


def _range(length: int) -> list[int]:
    if length > _LONGEST_RANGE:
        raise EvaluationError("operation cancelled: actual cost limit exceeded")
    return list(range(length))


def _distinct(values: list[Value]) -> list[Value]:
    made: list[Value] = []
    for value in values:
        if not any(equal(value, other) for other in made):
            made.append(value)
    return made


def _made(_: Sequence[Value], result: Value) -> int:
    return costs.new_list(1, len(result))


def _flattening(arguments: Sequence[Value], _: Value) -> int:
    return costs.new_list(arguments[1] if len(arguments) == 2 else 1, len(arguments[0]))


def _self_comparing(index: int) -> costs.Cost:
    def cost(arguments: Sequence[Value], _: Value) -> int:
        keys = arguments[index]
        factor = 2.0 + (costs.TRAVERSAL if keys and isinstance(keys[0], (str, bytes)) else 0)
        return costs.new_list(factor, len(keys) ** 2)

    return cost


def _slice_estimate(operands: Sequence[Operand]) -> CallEstimate:
    start = costs.whole_number(operands[1], 0)
    end = costs.whole_number(operands[2], costs.sized(operands[0]).most)
    return costs.new_list_estimate(1, exactly((end - start) % (MOST + 1)))


def _flatten_estimate(operands: Sequence[Operand]) -> CallEstimate:
    depth = costs.whole_number(operands[1], MOST) if len(operands) == 2 else 1
    return costs.new_list_estimate(float(depth), costs.sized(operands[0]))


def _range_estimate(operands: Sequence[Operand]) -> CallEstimate:
    return costs.new_list_estimate(1, exactly(costs.whole_number(operands[0], MOST)))


def _reverse_estimate(operands: Sequence[Operand]) -> CallEstimate:
    return costs.new_list_estimate(1, costs.sized(operands[0]))


def _self_comparing_estimate(index: int) -> costs.Estimate:
    def estimate(operands: Sequence[Operand]) -> CallEstimate:
        keys = operands[index]
        is_text = keys.type.parameters and keys.type.parameters[0].kind in (Kind.STRING, Kind.BYTES)
        size = costs.sized(keys)
        return costs.new_list_estimate(2.0 + (costs.TRAVERSAL if is_text else 0), size.times(size))

    return estimate


def _distinct_estimate(operands: Sequence[Operand]) -> CallEstimate:
    size = costs.sized(operands[0])
    return costs.new_list_estimate(2.0, size.times(size))


def _sorting() -> tuple[Function, ...]:
    sort = tuple(
        Overload(
            f"list_{name}_sort",
            (list_of(_COMPARED[name]),),
            list_of(_COMPARED[name]),
            lambda values: _sorted_by(values, values),
            member=True,
            cost=_self_comparing(0),
            estimate=_self_comparing_estimate(0),
        )
        for name in _ORDER
    )
    sort_by = tuple(
        Overload(
            f"list_{name}_sortByAssociatedKeys",
            (list_of(_T), list_of(_COMPARED[name])),
            list_of(_T),
            _sorted_by,
            member=True,
            cost=_self_comparing(1),
            estimate=_self_comparing_estimate(1),
        )
        for name in _ORDER
    )
    return Function("sort", sort), Function("@sortByAssociatedKeys", sort_by)


_LIST = list_of(_T)
LISTS = Library(
    (
        _each("isSorted", _is_sorted, _ORDER, types.BOOL),
        _each("sum", _is_sorted, tuple(_SUMMED)),
        _each("max", _best("max", -1), _ORDER),
        _each("min", _best("min", 1), _ORDER),
        _found("indexOf", "list_a_index_of_int", _index_of),
        _found("lastIndexOf", "list_a_last_index_of_int", _last_index_of),
        Function(
            "slice",
            (
                Overload(
                    *("list_slice", (_LIST, types.INT, types.INT), _LIST, _slice),
                    member=True,
                    cost=_made,
                    estimate=_slice_estimate,
                ),
            ),
        ),
        Function(
            "flatten",
            (
                Overload(
                    *("list_flatten", (list_of(_LIST),), _LIST, _flattened),
                    member=True,
                    cost=_flattening,
                    estimate=_flatten_estimate,
                ),
                Overload(
                    *("list_flatten_int", (list_of(types.DYN), types.INT), list_of(types.DYN), _flattened),
                    member=True,
                    cost=_flattening,
                    estimate=_flatten_estimate,
                ),
            ),
        ),
        *_sorting(),
        Function(
            "lists.range",
            (
                Overload(
                    *("lists_range", (types.INT,), list_of(types.INT), _range), cost=_made, estimate=_range_estimate
                ),
            ),
        ),
        Function(
            "reverse",
            (
                Overload(
                    *("list_reverse", (_LIST,), _LIST, lambda values: list(reversed(values))),
                    member=True,
                    cost=_made,
                    estimate=_reverse_estimate,
                ),
            ),
        ),
        Function(
            "distinct",
            (
                Overload(
                    *("list_distinct", (_LIST,), _LIST, _distinct),
                    member=True,
                    cost=_self_comparing(0),
                    estimate=_distinct_estimate,
                ),
            ),
        ),
    )
)
"""The functions of lists."""
