# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of schemas, by the engine in whose language they are written: no pattern takes it long."""

from __future__ import annotations

import re2

_QUIETLY = re2.Options()
_QUIETLY.log_errors = False


class NoPattern(ValueError):
    """A text that is no regular expression, and why."""


def compiled(pattern: str) -> re2._Regexp:
    """The pattern, to be searched for; the engine keeps it for the next time.

    Raises:
        NoPattern: It is none.
    """
    try:
        return re2.compile(pattern, _QUIETLY)
    except re2.error as error:
        raise NoPattern(error.args[0].decode()) from None


def matches(pattern: str, text: str) -> bool:
    """Whether a text has somewhere what a pattern describes."""
    return compiled(pattern).search(text) is not None
