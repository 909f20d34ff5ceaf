# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of schemas, by the engine in whose language they are written: no pattern takes it long."""

from __future__ import annotations

from typing import Any

import re2

_QUIETLY = re2.Options()
_QUIETLY.log_errors = False


class NoPattern(ValueError):
    """A text that is no regular expression, and why."""


class Pattern:
    """A regular expression, compiled.

    Attributes:
        size: The number of its instructions; a match takes at most so many steps for each character.
    """

    def __init__(self, made: Any) -> None:  # the engine is untyped
        self._made = made
        self.size: int = made.programsize

    def matches(self, text: str) -> bool:
        """Return whether a text has somewhere what the pattern describes."""
        return self._made.search(text) is not None


def compiled(pattern: str) -> Pattern:
    """Return a pattern, compiled; the engine may remember it.

    Raises:
        NoPattern: It is none.
    """
    try:
        return Pattern(re2.compile(pattern, _QUIETLY))
    except re2.error as error:
        raise NoPattern(error.args[0].decode()) from None
