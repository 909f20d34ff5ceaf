# SPDX-License-Identifier: Apache-2.0
"""The faults of an expression and the errors of its evaluation, in the words of cel-go, which API servers use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_MOST_ISSUES = 100
_LONGEST_SNIPPET = 16384


class Issue(NamedTuple):
    """One error in the text of an expression.

    Attributes:
        line: The line number, from 1.
        column: The column in characters, from 0.
        message: The error message.
    """

    line: int
    column: int
    message: str


class CompileError(ValueError):
    """An expression does not compile; the message shows the first 100 errors, each with its line and a caret.

    Attributes:
        issues: The errors, in their order in the text.
    """

    def __init__(self, text: str, issues: Sequence[Issue]) -> None:
        self.issues = sorted(issues, key=lambda issue: issue[:2])
        super().__init__(_printed(text, self.issues))


class InstantiationError(CompileError):
    """An expression has correct types, but a literal in it cannot be converted, or is not a regular expression."""

    def __init__(self, message: str) -> None:
        super().__init__("", ())
        self.args = (message,)


class EvaluationError(Exception):
    """The evaluation of an expression failed; the message is cel-go's, such as `no such key: replicas`."""


class BudgetExceeded(EvaluationError):
    """An evaluation exceeded its maximum cost and was cancelled; unlike others, no operator absorbs this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload(function: str = "") -> EvaluationError:
    """Return the error for a function or operator that has no overload for the types of its arguments."""
    return EvaluationError(f"no such overload: {function}" if function else "no such overload")


def _printed(text: str, issues: Sequence[Issue]) -> str:
    lines = text.split("\n")
    printed = [_with_snippet(issue, lines) for issue in issues[:_MOST_ISSUES]]
    if len(issues) > _MOST_ISSUES:
        printed.append(f"{len(issues) - _MOST_ISSUES} more errors were truncated")
    return "\n".join(printed)


def _with_snippet(issue: Issue, lines: Sequence[str]) -> str:
    is_empty = issue.line > 0 and lines == [""]  # whose end is before its first character
    head = f"ERROR: <input>:{issue.line}:{issue.column + (not is_empty)}: {issue.message}"
    if is_empty or not 1 <= issue.line <= len(lines):
        return head
    snippet = lines[issue.line - 1].replace("\t", " ")
    if len(snippet.encode()) > _LONGEST_SNIPPET:
        return head
    before = "".join("." if character.isascii() else "\uff0e" for character in snippet[: issue.column])
    at = snippet[issue.column : issue.column + 1]
    return f"{head}\n | {snippet}\n | {before}{'^' if at.isascii() else chr(0xFF3E)}"
