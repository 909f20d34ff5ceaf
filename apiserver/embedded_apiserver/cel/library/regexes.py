# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' functions of regular expressions, in the syntax of RE2."""

from __future__ import annotations

import math
from collections.abc import Sequence

from embedded_apiserver import patterns
from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import CallEstimate, Function, Library, Operand, Overload
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.ranges import Range, exactly
from embedded_apiserver.cel.types import STRING, list_of
from embedded_apiserver.cel.values import Value


def _compiled(pattern: str) -> patterns.AnyPattern:
    try:
        return patterns.compiled(pattern)
    except patterns.NoPattern as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def find(text: str, pattern: str) -> str:
    """Return the first match, empty if there is none."""
    return next((text[start:end] for start, end in _compiled(pattern).places(text)), "")


def find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    """Return the matches that do not overlap, at most so many unless `most` is negative.

    An empty match right after another match is none, as in Go.
    """
    found, last = list[str](), -1
    for start, end in _compiled(pattern).places(text):
        if 0 <= most <= len(found):
            break
        if end > start or start != last:
            found.append(text[start:end])
        last = end
    return found


def _cost(arguments: Sequence[Value], _: Value) -> int:
    text = math.ceil((1 + len(arguments[0])) * costs.TRAVERSAL)
    return text * math.ceil(len(arguments[1]) * costs.PATTERN)


def _estimate(operands: Sequence[Operand]) -> CallEstimate:
    size = costs.sized(operands[0])
    text = size.plus(exactly(1)).scaled(costs.TRAVERSAL)
    return CallEstimate(text.times(costs.sized(operands[1]).scaled(costs.PATTERN)), Range(0, size.most))


_LIST = list_of(STRING)
REGEXES = Library(
    (
        Function(
            "find",
            (
                Overload(
                    *("string_find_string", (STRING, STRING), STRING, find), member=True, cost=_cost, estimate=_estimate
                ),
            ),
        ),
        Function(
            "findAll",
            (
                Overload(
                    *("string_find_all_string", (STRING, STRING), _LIST, find_all),
                    member=True,
                    cost=_cost,
                    estimate=_estimate,
                ),
                Overload(
                    *("string_find_all_string_int", (STRING, STRING, types.INT), _LIST, find_all),
                    member=True,
                    cost=_cost,
                    estimate=_estimate,
                ),
            ),
        ),
    )
)
"""The functions of regular expressions."""
