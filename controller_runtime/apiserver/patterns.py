# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of schemas, run by RE2.

Patterns come from clients, and RE2 matches in time linear in the text; `re` can take exponential time. Its syntax is
that of Go's regular expressions, which a real server uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from controller_runtime.core.extras import needed_by

# The faults that Go's regular expressions have under other names than those of RE2.
_FAULTS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
}


class NoPattern(ValueError):
    """A text is not a regular expression; the message is that of a real server."""

    def __init__(self, problem: str) -> None:
        fault, _, place = problem.partition(": ")
        super().__init__(f"error parsing regexp: {_FAULTS.get(fault, fault)}: `{place}`")


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

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Return the start and the end of each match in a text; the matches do not overlap."""
        for match in self._made.finditer(text):
            yield match.span()


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
