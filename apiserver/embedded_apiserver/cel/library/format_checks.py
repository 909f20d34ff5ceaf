# SPDX-License-Identifier: Apache-2.0
"""Checks of literal patterns with literal lists of values, as in `'%d'.format([1])`, once their types are known."""

from __future__ import annotations

from collections.abc import Sequence

from embedded_apiserver.cel import syntax
from embedded_apiserver.cel.errors import EvaluationError, Issue
from embedded_apiserver.cel.lexer import Source
from embedded_apiserver.cel.library.formatting import REFUSALS, clause
from embedded_apiserver.cel.syntax import Node
from embedded_apiserver.cel.types import Kind

_WHOLE = frozenset((Kind.INT, Kind.UINT))
_HEX = _WHOLE | {Kind.STRING, Kind.BYTES}
_FLOAT = frozenset((Kind.DOUBLE, Kind.STRING))  # texts such as NaN
_ANY = _HEX | {
    *(Kind.LIST, Kind.MAP, Kind.DOUBLE, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION, Kind.TYPE, Kind.NULL),
}
_KINDS = {
    "s": _ANY,
    "d": _WHOLE,
    "f": _FLOAT,
    "e": _FLOAT,
    "b": _WHOLE | {Kind.BOOL},
    "x": _HEX,
    "X": _HEX,
    "o": _WHOLE,
}


def format_issues(node: syntax.Call, source: Source) -> list[Issue]:
    """Return the errors of a call of `format` whose pattern and list of values are literals."""
    target, values = node.target, node.arguments[0] if len(node.arguments) == 1 else None
    if not isinstance(target, syntax.Literal) or not isinstance(target.value, str):
        return []
    if not isinstance(values, syntax.ListLiteral):
        return []
    try:
        used, wrong, text = _first_fault(target.value, values.elements)
    except EvaluationError as error:
        return [source.issue(node.offset, str(error))]
    if wrong is not None:
        return [source.issue(wrong.offset, f"error during formatting: {text}")]
    if used < len(values.elements):
        counts = f"expected {used}, got {len(values.elements)}"
        return [source.issue(node.offset, f"too many arguments supplied to string.format ({counts})")]
    return []


def _first_fault(pattern: str, values: Sequence[Node]) -> tuple[int, Node | None, str]:
    """Return how many values a pattern uses, the first of them that does not fit, and why.

    Raises:
        EvaluationError: The pattern is malformed, or has more clauses than there are values.
    """
    at = used = 0
    while (end := pattern.find("%", at)) >= 0:
        if pattern.startswith("%%", end):
            at = end + 2
            continue
        if end + 1 == len(pattern):
            raise EvaluationError("unexpected end of string")
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        at, letter, _ = clause(pattern, end + 1)
        wrong = _unfit(values[used], letter)
        used += 1
        if wrong is not None:
            return used, wrong, f"{REFUSALS[letter]}, was given {wrong.type.name}"
    return used, None, ""


def _unfit(value: Node, letter: str) -> Node | None:
    """Return the part of a value that a clause does not take."""
    kind = value.type.kind
    if kind is not Kind.DYN and kind not in _KINDS[letter]:
        return value
    inner: list[Node] = []
    if letter == "s" and isinstance(value, syntax.ListLiteral):
        inner = list(value.elements)
    elif letter == "s" and isinstance(value, syntax.MapLiteral):
        inner = [part for entry in value.entries for part in (entry.key, entry.value)]
    return next((wrong for part in inner if (wrong := _unfit(part, letter)) is not None), None)
