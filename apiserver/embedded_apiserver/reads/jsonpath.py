# SPDX-License-Identifier: Apache-2.0
"""The part of JSONPath that printer columns use: fields, indexes, all elements, and filters that compare with a value.

`.spec.size`, `.metadata.labels['a\\.b/c']`, `.spec.ports[0].name`, `.spec.hosts[*]`,
`.status.conditions[?(@.type=="Ready")].status`. Ranges, unions, functions and `..` are not
supported.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

Step = Callable[[Any], Iterator[Any]]
"""Returns the values to which one step of a path leads from a value."""

# `inner` is possessive (`*+`): a long path that does not match would otherwise take quadratic time.
_STEP = re.compile(
    r"""\.?\[\s*\?\(\s*@(?P<inner>[^=!<>]*+)(?P<compare>==|!=|<=|>=|<|>)(?P<value>.*?)\)\s*\]"""
    r"""|\.?\[\s*(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\s*\]"""
    r"""|\.?\[\s*(?P<index>-?\d+|\*)\s*\]"""
    r"""|\.(?P<name>(?:\\.|[^.\[\\])+)"""
)
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JSONPath:
    """A compiled JSONPath expression. Immutable.

    Args:
        text: The expression, which begins with a dot.

    Raises:
        ValueError: The expression cannot be parsed, or uses unsupported syntax.
    """

    def __init__(self, text: str) -> None:
        self._steps: list[Step] = []
        place = 0
        while text[place : place + 2] not in ("", "."):
            match = _STEP.match(text, place)
            if match is None:
                raise ValueError(f"cannot read {text[place:]!r} of the path {text!r}")
            self._steps.append(_step(match))
            place = match.end()

    def first(self, value: Any) -> Any:
        """Return the first value that the expression selects in `value`; None if it selects none."""
        values = iter((value,))
        for step in self._steps:
            values = _each(step, values)
        return next(values, None)


def _each(step: Step, values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        yield from step(value)


def _step(match: re.Match[str]) -> Step:
    if match["compare"]:
        return _filter(JSONPath(match["inner"].strip()), _COMPARE[match["compare"]], _literal(match["value"].strip()))
    if match["index"] == "*" or match["name"] == "*":
        return _all
    if match["index"]:
        return _element(int(match["index"]))
    return _field(re.sub(r"\\(.)", r"\1", match["name"] or match["quoted"]))


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"{text!r} is no value to compare with") from error


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _element(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _filter(path: JSONPath, compare: Callable[[Any, Any], bool], wanted: Any) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for one in value if isinstance(value, list) else ():
            found = path.first(one)
            # Of one type only: values of two types may not be comparable, and True must not equal 1.
            if type(found) is type(wanted) and compare(found, wanted):
                yield one

    return step
