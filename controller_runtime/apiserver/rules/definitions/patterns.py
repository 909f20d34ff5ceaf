# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of schemas, run by RE2.

Patterns come from clients, and RE2 matches in time linear in the text; `re` can take exponential time. Its syntax is
that of Go's regular expressions, which a real server uses.
"""

from __future__ import annotations

from typing import Any

import re2

_QUIETLY = re2.Options()
_QUIETLY.log_errors = False  # RE2 would write each invalid pattern to stderr


class NoPattern(ValueError):
    """A text is not a regular expression; the message is RE2's."""


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
    """
    try:
        return Pattern(re2.compile(pattern, _QUIETLY))
    except re2.error as error:
        raise NoPattern(error.args[0].decode()) from None
