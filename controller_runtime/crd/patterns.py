# SPDX-License-Identifier: Apache-2.0
"""Patterns that an API server understands: the syntax of RE2, which lacks some of Python's."""

from __future__ import annotations

import re

# The constructs that Python has and RE2 lacks: looking ahead and behind, atomic groups, conditions, back references and
# possessive repetition. Escaped characters and classes in brackets are skipped by the alternatives before.
_FOREIGN = re.compile(r"\\[^1-9]|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<foreign>\\[1-9]|\(\?(?:[=!>(]|<[=!]|P=)|[*+?}]\+)")


def problem_of(pattern: str | None) -> str:
    """Return why a server would refuse a regular expression, as the end of a sentence; empty if it would accept it."""
    for found in _FOREIGN.finditer(pattern or ""):
        if foreign := found["foreign"]:
            return f"has {foreign!r}, which a server's patterns (RE2) cannot have"
    return ""
