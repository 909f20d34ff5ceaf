# SPDX-License-Identifier: Apache-2.0
"""And, or, conditionals, and optional alternatives: they evaluate only what they need, and absorb errors."""

from __future__ import annotations

from embedded_apiserver.cel.code import Code, Frame
from embedded_apiserver.cel.errors import BudgetExceeded, EvaluationError, no_such_overload
from embedded_apiserver.cel.values import Optional, Value


def junction(left: Code, right: Code, decisive: bool) -> Code:
    """Return the compiled form of `left && right` (`decisive` is False) or `left || right` (`decisive` is True).

    If one operand has the decisive value, an error of the other one is ignored.
    """
    first, second, more, other = left.run, right.run, right.cost, not decisive

    def run(frame: Frame) -> Value:
        failed: EvaluationError | None = None
        try:
            value = first(frame)
        except BudgetExceeded:
            raise
        except EvaluationError as error:
            failed = error
        else:
            if value is decisive:
                return decisive
            if value is not other:
                failed = no_such_overload()
        frame.cost += more
        if failed is None:
            value = second(frame)
            if value is decisive or value is other:
                return value
            raise no_such_overload()
        return _against(frame, failed)

    def _against(frame: Frame, failed: EvaluationError) -> Value:
        try:
            value = second(frame)
        except BudgetExceeded:
            raise
        except EvaluationError:
            raise failed from None
        if value is decisive:
            return decisive
        raise failed

    return Code(run, left.cost)


def conditional(condition: Code, then: Code, otherwise: Code) -> Code:
    """Return the compiled form of `condition ? then : otherwise`."""
    test, yes, no = condition.run, then.run, otherwise.run
    cost_of_yes, cost_of_no = then.cost, otherwise.cost

    def run(frame: Frame) -> Value:
        value = test(frame)
        if value is True:
            frame.cost += cost_of_yes
            return yes(frame)
        if value is False:
            frame.cost += cost_of_no
            return no(frame)
        raise no_such_overload()

    return Code(run, condition.cost)


def alternative(left: Code, right: Code, unwraps: bool) -> Code:
    """Return the compiled form of `left.or(right)`, or of `left.orValue(right)` if `unwraps` is True.

    A value of `left` that is not optional counts as present.
    """
    first, second, more = left.run, right.run, right.cost

    def run(frame: Frame) -> Value:
        value = first(frame)
        if not isinstance(value, Optional):
            return value
        if value.present:
            return value.value if unwraps else value
        frame.cost += more
        return second(frame)

    return Code(run, left.cost)


def not_strictly_false(inner: Code) -> Code:
    """Return the compiled form of a test that is True unless the value of `inner` is False.

    If the evaluation of `inner` fails, the test is True as well.
    """
    test = inner.run

    def run(frame: Frame) -> Value:
        try:
            return test(frame) is not False
        except BudgetExceeded:
            raise
        except EvaluationError:
            return True

    return Code(run, inner.cost + 1)
