# SPDX-License-Identifier: Apache-2.0
"""cel-go's functions of lists: parts of them, other orders, and lists of numbers."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import CallEstimate, Function, Library, Operand, Overload
from embedded_apiserver.cel.equality import compared, equal
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.library.lists import COMPARED, ORDER
from embedded_apiserver.cel.ranges import MOST, exactly
from embedded_apiserver.cel.types import Kind, list_of, parameter
from embedded_apiserver.cel.values import Value, type_of
from embedded_apiserver.cel.work import LONGEST_RANGE, are_hashed, comparing_all, counting, sorting, walking

_T = parameter("T")


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
    made: list[Value] = []
    _flatten_into(made, values, depth)
    return made


def _flatten_into(made: list[Value], values: list[Value], depth: int) -> None:
    for value in values:
        if depth and isinstance(value, list):
            _flatten_into(made, value, depth - 1)
        else:
            made.append(value)


def _sorted_by(values: list[Value], keys: list[Value]) -> list[Value]:
    if len(values) != len(keys):
        text = "@sortByAssociatedKeys() expected a list of the same size as the associated keys list"
        raise EvaluationError(f"{text}, but got {len(values)} and {len(keys)} elements respectively")
    if keys and type_of(keys[0]) not in COMPARED.values():
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")

    def order(one: tuple[Value, Value], other: tuple[Value, Value]) -> int:
        return compared(one[0], other[0])

    return [value for _, value in sorted(zip(keys, values, strict=True), key=functools.cmp_to_key(order))]


def _range(length: int) -> list[int]:
    if length > LONGEST_RANGE:
        raise EvaluationError("operation cancelled: actual cost limit exceeded")
    return list(range(length))


def _distinct(values: list[Value]) -> list[Value]:
    if are_hashed(values):
        return list(dict.fromkeys(values))
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
            (list_of(COMPARED[name]),),
            list_of(COMPARED[name]),
            lambda values: _sorted_by(values, values),
            member=True,
            cost=_self_comparing(0),
            estimate=_self_comparing_estimate(0),
            work=sorting,
        )
        for name in ORDER
    )
    sort_by = tuple(
        Overload(
            f"list_{name}_sortByAssociatedKeys",
            (list_of(_T), list_of(COMPARED[name])),
            list_of(_T),
            _sorted_by,
            member=True,
            cost=_self_comparing(1),
            estimate=_self_comparing_estimate(1),
            work=sorting,
        )
        for name in ORDER
    )
    return Function("sort", sort), Function("@sortByAssociatedKeys", sort_by)


_LIST = list_of(_T)
LIST_SHAPES = Library(
    (
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
                    work=walking,
                ),
                Overload(
                    *("list_flatten_int", (list_of(types.DYN), types.INT), list_of(types.DYN), _flattened),
                    member=True,
                    cost=_flattening,
                    estimate=_flatten_estimate,
                    work=walking,
                ),
            ),
        ),
        *_sorting(),
        Function(
            "lists.range",
            (
                Overload(
                    *("lists_range", (types.INT,), list_of(types.INT), _range),
                    cost=_made,
                    estimate=_range_estimate,
                    work=counting,
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
                    work=comparing_all,
                ),
            ),
        ),
    )
)
"""The functions of parts and orders of lists."""
