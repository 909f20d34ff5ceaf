# SPDX-License-Identifier: Apache-2.0
"""Compiled expressions."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.apiserver.cel.declarations import Environment
from controller_runtime.apiserver.cel.ranges import Range
from controller_runtime.apiserver.cel.types import Type
from controller_runtime.apiserver.cel.values import Value

PER_CALL_LIMIT = 1_000_000
"""What one evaluation may cost; that of a real server."""


class Budget:
    """Counts what evaluations cost.

    Attributes:
        limit: What one evaluation may cost.
        spent: What all of them have cost.

    Threads: one at a time.
    """

    def __init__(self, limit: int = PER_CALL_LIMIT) -> None:
        self.limit = limit
        self.spent = 0


class Program:
    """A compiled expression.

    Attributes:
        text: The expression.
        type: The type of its result.

    Threads: any.
    """

    def __init__(self, text: str, result: Type) -> None:
        self.text = text
        self.type = result

    def evaluate(self, bindings: Mapping[str, Value], budget: Budget | None = None) -> Value:
        """Return the value of the expression.

        Args:
            bindings: The values of the variables; a missing one fails when it is read.
            budget: Counts the cost, also of a failed evaluation; without one, only the limit of one evaluation holds.

        Raises:
            EvaluationError: The evaluation failed.
            BudgetExceeded: It cost more than it may.
        """
        raise NotImplementedError

    def estimate(self) -> Range:
        """Return the least and the most that an evaluation can cost, from the sizes that types have."""
        raise NotImplementedError


def compile_expression(text: str, environment: Environment, result: Type | None = None) -> Program:
    """Compile an expression.

    Args:
        text: The expression.
        environment: What it may use.
        result: The type that it must have; None allows any.

    Raises:
        CompileError: The text is no expression, or its types do not fit.
    """
    raise NotImplementedError
