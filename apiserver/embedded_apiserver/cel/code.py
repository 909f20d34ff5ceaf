# SPDX-License-Identifier: Apache-2.0
"""Compiled expressions: Python functions of a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from embedded_apiserver.cel.errors import BudgetExceeded
from embedded_apiserver.cel.meter import Meter
from embedded_apiserver.cel.values import Value


class Frame:
    """One evaluation.

    Attributes:
        bindings: The values of the variables.
        locals: The values of the variables of loops, by their slots.
        cost: The cost of the evaluation so far.
        limit: The most that it may cost.
        meter: Counts its steps, with those of all other evaluations for the request.

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
        """Count a cost.

        Raises:
            BudgetExceeded: The evaluation costs more than it may.
        """
        self.cost += cost
        if self.cost > self.limit:
            raise BudgetExceeded


Run = Callable[[Frame], Value]


class Code(NamedTuple):
    """A compiled part of an expression.

    Attributes:
        run: Returns its value; counts only costs that depend on values or on what is evaluated.
        cost: The rest of its cost, which is the same for each evaluation; the code that runs the part counts it.
        literal: Whether its value never changes; it is then in `value`.
    """

    run: Run
    cost: int
    literal: bool = False
    value: Value = None


def constant(value: Value) -> Code:
    """Return the code of a value that never changes; it costs nothing."""
    return Code(lambda frame: value, 0, True, value)
