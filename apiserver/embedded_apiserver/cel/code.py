# SPDX-License-Identifier: Apache-2.0
"""Compiled expressions: Python functions of a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from embedded_apiserver.cel.errors import BudgetExceeded
from embedded_apiserver.cel.meter import Meter
from embedded_apiserver.cel.values import Value


class Frame:
    """The state of one evaluation of an expression.

    Attributes:
        bindings: The values of the variables.
        locals: The values of loop variables, by slot.
        cost: The cost of the evaluation so far.
        limit: The maximum cost of the evaluation.
        meter: Counts the steps of all evaluations for the request.

    Threads: one.
    """

    __slots__ = ("bindings", "cost", "limit", "locals", "meter")

    def __init__(self, bindings: Mapping[str, Value], slots: int, limit: int, meter: Meter) -> None:
        self.bindings = bindings
        self.locals: list[Value] = [None] * slots
        self.cost = 0
        self.limit = limit
        self.meter = meter

    def charge(self, cost: int) -> None:
        """Add to the cost of the evaluation.

        Raises:
            BudgetExceeded: The cost exceeds the limit.
        """
        self.cost += cost
        if self.cost > self.limit:
            raise BudgetExceeded


Run = Callable[[Frame], Value]


class Code(NamedTuple):
    """The compiled form of a part of an expression.

    Attributes:
        run: A function that returns the value of the part, and adds those costs that depend on values or on the
            evaluated branches.
        cost: The fixed cost of the part, which the caller of `run` adds.
        literal: True if the part is a constant.
        value: The value of the constant; meaningless if the part is not a constant.
    """

    run: Run
    cost: int
    literal: bool = False
    value: Value = None


def constant(value: Value) -> Code:
    """Return the compiled form of a constant value, which has no cost."""
    return Code(lambda frame: value, 0, True, value)
