# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of schemas, run by RE2.

Patterns come from clients, and RE2 matches in time linear in the text; `re` can take exponential time. Its syntax is
that of Go's regular expressions, which a real server uses.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from controller_runtime.core.extras import needed_by


class NoPattern(ValueError):
    """A text is not a regular expression; the message is RE2's."""


_IN_GO = (
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("missing ]", "missing closing ]"),
    ("missing )", "missing closing )"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid repetition size", "invalid repeat count"),
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("invalid named capture group", "invalid named capture"),
    ("trailing \\ at end of regexp", "trailing backslash at end of expression: "),
)


def in_go(error: NoPattern) -> str:
    """Return what is wrong with a regular expression in the words of Go, which a real server passes on."""
    text = str(error)
    for words, others in _IN_GO:
        if text.startswith(words):
            text = others + text.removeprefix(words)
            break
    what, _, where = text.partition(": ")
    return f"error parsing regexp: {what}: `{where}`"


class Pattern:
    """A compiled regular expression.

    Attributes:
        size: The number of instructions. A match takes at most this many steps for each character.
    """

    def __init__(self, made: Any) -> None:  # the engine is untyped
        self._made = made
        self.size: int = made.programsize

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in a text."""
        return self._made.search(text) is not None


def compiled(pattern: str) -> Pattern:
    """Return a compiled pattern; RE2 may take it from its cache.

    Raises:
        NoPattern: The text is not a regular expression.
        UsageError: RE2 is not installed.
    """
    engine, options = _engine()
    try:
        return Pattern(engine.compile(pattern, options))
    except engine.error as error:
        raise NoPattern(error.args[0].decode()) from None


@cache
def _engine() -> tuple[Any, Any]:
    """Return RE2 and its options; imported when the first pattern is compiled, since most servers see none."""
    with needed_by("a pattern in the schema of a custom resource"):
        import re2
    options = re2.Options()
    options.log_errors = False  # RE2 would write each invalid pattern to stderr
    return re2, options
