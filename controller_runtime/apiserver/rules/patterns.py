# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of schemas, by the engine in whose language they are written: no pattern takes it long."""

from __future__ import annotations

from typing import Any

import re2

_QUIETLY = re2.Options()
_QUIETLY.log_errors = False


class NoPattern(ValueError):
    """A text that is no regular expression, and why."""


def check(pattern: str) -> None:
    """Nothing, if it is a pattern.

    Raises:
        NoPattern: It is none.
    """
    _compiled(pattern)


def matches(pattern: str, text: str) -> bool:
    """Whether a text has somewhere what a pattern describes.

    Raises:
        NoPattern: It describes nothing.
    """
    return _compiled(pattern).search(text) is not None


def _compiled(pattern: str) -> Any:
    """It is untyped, and keeps what it has compiled."""
    try:
        return re2.compile(pattern, _QUIETLY)
    except re2.error as error:
        raise NoPattern(error.args[0].decode()) from None
