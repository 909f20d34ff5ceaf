# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' functions of regular expressions, in the syntax of RE2."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import CallEstimate, Function, Library, Operand, Overload
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.meter import Meter
from embedded_apiserver.cel.ranges import Range, exactly
from embedded_apiserver.cel.types import STRING, list_of
from embedded_apiserver.cel.values import Value
from embedded_apiserver.cel.work import free
from embedded_apiserver.patterns import NoPattern

_PER_MATCH = 60  # steps


def _places(meter: Meter, text: str, pattern: str) -> Iterator[tuple[int, int]]:
    """Yield the matches; the search for each may look at all of the text that is left."""
    try:
        made = meter.pattern(pattern)
    except NoPattern as error:
        raise EvaluationError(f"Illegal regex: {error}") from None
    meter.spend(made.steps(len(text)) + len(text) // 8)
    for start, end in made.places(text):
        yield start, end
        meter.spend(made.steps(len(text) - end) + _PER_MATCH)


def find(meter: Meter, text: str, pattern: str) -> str:
    """Return the first match of a regular expression in a text; empty if there is none."""
    return next((text[start:end] for start, end in _places(meter, text, pattern)), "")


def find_all(meter: Meter, text: str, pattern: str, most: int = -1) -> list[str]:
    """Return the non-overlapping matches of a regular expression in a text: at most `most`, or all if that is negative.

    As in Go, an empty match directly after another match is ignored.
    """
    found, last = list[str](), -1
    for start, end in _places(meter, text, pattern):
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
                    *("string_find_string", (STRING, STRING), STRING, find),
                    member=True,
                    cost=_cost,
                    estimate=_estimate,
                    work=free,
                    metered=True,
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
                    work=free,
                    metered=True,
                ),
                Overload(
                    *("string_find_all_string_int", (STRING, STRING, types.INT), _LIST, find_all),
                    member=True,
                    cost=_cost,
                    estimate=_estimate,
                    work=free,
                    metered=True,
                ),
            ),
        ),
    )
)
"""The functions of regular expressions."""
