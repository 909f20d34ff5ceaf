# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of schemas: written for another engine (RE2), and run by this language's.

Most are the same in both. Told apart: flags in the middle, named classes, the end of the
text. What cannot be said here (`\\p{Greek}`, say) is not checked, and who defines it is warned.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

_CLASSES: Mapping[str, str] = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_UNSAYABLE = ("p", "P", "Q", "C")  # classes of Unicode, quotations, single bytes
_FLAGS = re.compile(r"\(\?([ims]*(?:-[ims]+)?)\)")
_CLASS = re.compile(r"\[:(\w+):\]")
_BRACKET = re.compile(r"(?<!\\)\[")


class Unsayable(Exception):
    """A pattern that may be right, but cannot be run here."""


@functools.lru_cache(1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, to be searched for.

    Raises:
        Unsayable: It has no counterpart here.
        re.error: It is no pattern.
    """
    return re.compile(_translated(pattern), re.ASCII)


def matches(pattern: str, text: str) -> bool:
    """Whether a text has what a pattern describes; any text, if the pattern cannot be run here."""
    try:
        return compiled(pattern).search(text) is not None
    except Unsayable:
        return True


def is_sayable(pattern: str) -> bool:
    """Whether a pattern can be run here, or is none at all."""
    try:
        _translated(pattern)
    except Unsayable:
        return False
    return True


def _translated(pattern: str) -> str:
    made: list[str] = []
    # For each group that is open, the flags set in the middle of it, which hold to its end: each opens a group here.
    groups: list[list[str]] = [[]]
    place = 0
    while place < len(pattern):
        character = pattern[place]
        if flags := _FLAGS.match(pattern, place):
            made.append(f"(?{flags[1]}:")
            groups[-1].append(flags[1])
            place = flags.end()
            continue
        match character:
            case "\\":
                made.append(_escape(pattern[place + 1 : place + 2]))
                place += 1
            case "[":
                end = _end_of_set(pattern, place)
                made.append(_set(pattern[place:end]))
                place = end - 1
            case "(":
                made.append(character)
                groups.append([])
            case ")" if len(groups) > 1:
                made.append(")" * len(groups.pop()) + character)
            case "|":
                made.append(")" * len(groups[-1]) + character + "".join(f"(?{one}:" for one in groups[-1]))
            case "$":
                made.append(r"\Z")  # here, a dollar would forgive a newline at the end
            case _:
                made.append(character)
        place += 1
    return "".join(made) + ")" * len(groups[0])


def _escape(character: str) -> str:
    if character in _UNSAYABLE and character:
        raise Unsayable(f"\\{character}")
    return r"\Z" if character == "z" else f"\\{character}"


def _end_of_set(pattern: str, start: int) -> int:
    """Where a set of characters ends; a bracket that closes stands for itself if it comes first."""
    place = start + 2 if pattern.startswith("^", start + 1) else start + 1
    if pattern.startswith("]", place):
        place += 1
    while place < len(pattern) and pattern[place] != "]":
        named = _CLASS.match(pattern, place)
        place = named.end() if named else place + (2 if pattern[place] == "\\" else 1)
    return place + 1


def _set(text: str) -> str:
    if re.search(r"\\[pP]", text):
        raise Unsayable(text)
    inner = _CLASS.sub(lambda named: _CLASSES.get(named[1], named[0]), text[1:])
    return "[" + _BRACKET.sub(r"\\[", inner)
