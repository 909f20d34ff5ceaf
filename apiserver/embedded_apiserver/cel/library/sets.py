# SPDX-License-Identifier: Apache-2.0
"""cel-go's functions of lists that stand for sets."""

from __future__ import annotations

from collections.abc import Sequence

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import CallEstimate, Function, Library, Operand, Overload
from embedded_apiserver.cel.equality import contains
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.ranges import exactly
from embedded_apiserver.cel.types import list_of, parameter
from embedded_apiserver.cel.values import Value
from embedded_apiserver.cel.work import are_hashed, comparing_all


def _contains(values: list[Value], wanted: list[Value]) -> bool:
    if are_hashed(values, wanted):
        return set(values).issuperset(wanted)
    return all(contains(value, values) for value in wanted)


def _are_equivalent(one: list[Value], other: list[Value]) -> bool:
    return _contains(one, other) and _contains(other, one)


def _intersect(one: list[Value], other: list[Value]) -> bool:
    if are_hashed(one, other):
        return not set(one).isdisjoint(other)
    return any(contains(value, other) for value in one)


def _cost(factor: float) -> costs.Cost:
    def cost(arguments: Sequence[Value], _: Value) -> int:
        return 1 + int(len(arguments[0]) * len(arguments[1]) * factor)

    return cost


def _estimate(factor: float) -> costs.Estimate:
    def estimate(operands: Sequence[Operand]) -> CallEstimate:
        one, other = (costs.sized(operand) for operand in operands)
        return CallEstimate(one.times(other).scaled(factor).plus(exactly(1)))

    return estimate


_LIST = list_of(parameter("T"))
SETS = Library(
    tuple(
        Function(
            f"sets.{name}",
            (
                Overload(
                    *(f"list_sets_{name}_list", (_LIST, _LIST), types.BOOL, call),
                    cost=_cost(factor),
                    estimate=_estimate(factor),
                    work=comparing_all,
                ),
            ),
        )
        for name, call, factor in (
            ("contains", _contains, 1.0),
            ("equivalent", _are_equivalent, 2.0),
            ("intersects", _intersect, 1.0),
        )
    )
)
"""The functions of sets."""
