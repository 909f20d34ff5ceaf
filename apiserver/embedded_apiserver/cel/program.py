# SPDX-License-Identifier: Apache-2.0
"""Compiled expressions.

The parser, the checker and the compiler are imported with the first expression, since most servers compile none: with
the libraries, which are imported where environments are made, they are a tenth of the server's start, and 2 MiB.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from embedded_apiserver.cel.code import Frame
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.errors import CompileError, EvaluationError, Issue
from embedded_apiserver.cel.meter import current_meter
from embedded_apiserver.cel.ranges import Range
from embedded_apiserver.cel.types import Type
from embedded_apiserver.cel.values import Value

if TYPE_CHECKING:
    from embedded_apiserver.cel.lexer import Source
    from embedded_apiserver.cel.syntax import Node

PER_CALL_LIMIT = 1_000_000
"""The most that one evaluation may cost; that of a real API server."""


_STEPS_OF_CHARACTER = 40
"""Steps to compile a character of an expression, which takes 3 to 18 µs."""


class Budget:
    """The cost of several evaluations, which share one budget.

    Attributes:
        limit: The maximum cost of one evaluation.
        spent: The cost of all evaluations so far.
        meter: Counts the steps of all evaluations for the request.

    Threads: one at a time.
    """

    def __init__(self, limit: int = PER_CALL_LIMIT) -> None:
        self.limit = limit
        self.spent = 0
        self.meter = current_meter()


class CELProgram:
    """A compiled CEL expression, made by `compile_expression`.

    Attributes:
        text: The text of the expression.
        type: The type of the result.
        reads: The names of the variables that the expression reads.

    Threads: any.
    """

    def __init__(self, text: str, tree: Node, environment: Environment) -> None:
        from embedded_apiserver.cel.compiler import compiled_tree
        from embedded_apiserver.cel.standard import TYPE_NAMES

        self.text = text
        self.type: Type = tree.type
        self._tree = tree
        self._variables = environment.variables
        self._code, self._slots, self.reads, self._steps = compiled_tree(
            tree, lambda name: TYPE_NAMES.get(name) or environment.types.get(name)
        )

    def evaluate(self, bindings: Mapping[str, Value], budget: Budget | None = None) -> Value:
        """Return the value of the expression.

        Args:
            bindings: The values of the variables; reading a missing variable is an error.
            budget: Counts the cost, also of a failed evaluation; None to apply only the limit of a single evaluation.

        Raises:
            EvaluationError: The evaluation failed.
            BudgetExceeded: The evaluation exceeded the cost limit.
            OutOfSteps: The evaluation would exceed the request's maximum number of steps.
        """
        run, cost = self._code[:2]
        budget = budget or Budget()
        budget.meter.spend(self._steps)
        frame = Frame(bindings, self._slots, budget.limit, budget.meter)
        try:
            frame.charge(cost)
            value = run(frame)
            frame.charge(0)
        except RecursionError:
            raise EvaluationError("the values are nested too deep") from None
        finally:
            budget.spent += frame.cost
        return value

    def estimate(self) -> Range:
        """Return the minimum and maximum cost of an evaluation, estimated from the maximum sizes that types declare."""
        from embedded_apiserver.cel.estimate import estimated

        return estimated(self._tree, self._variables)


def compile_expression(text: str, environment: Environment, result: Type | None = None) -> CELProgram:
    """Return a compiled CEL expression.

    Args:
        text: The expression.
        environment: The variables and functions that it may use.
        result: The required type of the result; None allows any type.

    Raises:
        CompileError: The text is not a valid expression, or has type errors.
        InstantiationError: A literal cannot be converted, or is not a regular expression.
        OutOfSteps: The request's expressions together exceed the maximum number of steps.
    """
    from embedded_apiserver.cel.parser import parsed, too_deep

    tree, source = parsed(text, binds=environment.binds)
    current_meter().spend(_STEPS_OF_CHARACTER * len(text))
    try:
        issues = _issues(tree, source, environment, result)
        if not issues:
            return CELProgram(text, tree, environment)
    except RecursionError:
        issues = [too_deep()]
    raise CompileError(text, issues)


def _issues(tree: Node, source: Source, environment: Environment, result: Type | None) -> list[Issue]:
    from embedded_apiserver.cel.checker import checked
    from embedded_apiserver.cel.literal_checks import literals_checked

    issues = checked(tree, source, environment) or literals_checked(tree, source, environment)
    if not issues and result is not None and result != tree.type:
        issues = [source.issue(tree.offset, f"expected type '{result}' but found '{tree.type}'")]
    return issues
