# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of schemas, in the language of RE2: it has no way back, so that no pattern can take forever.

What is not understood here (`\\p{Greek}`, say, or a pattern beyond all bounds) is not
checked, and who defines it is warned.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from controller_runtime.apiserver.rules.automaton import (
    Automaton,
    Condition,
    Part,
    TooLarge,
    character,
    choice,
    condition,
    is_word,
    repeated,
    sequence,
)

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
_CLASS = re.compile(r"\[:(\w+):\]")
_BRACKET = re.compile(r"(?<!\\)\[")
_ESCAPE = re.compile(r"\\(?:x\{([0-9A-Fa-f]{1,6})\}|x[0-9A-Fa-f]{2}|[0-7]{2,3}|.)", re.DOTALL)
_GROUP = re.compile(r"\((?:\?(?:P?<\w+>|([imsU]*)(?:-([imsU]+))?([:)])))?")
_TIMES = re.compile(r"(?:([*+?])|\{(\d{1,4})(?:(,)(\d{1,4})?)?\})\??")
_MOST_TIMES, _DEEPEST = 1000, 64

_CONDITIONS: Mapping[str, Condition] = {
    "A": lambda before, after: before is None,
    "z": lambda before, after: after is None,
    "b": lambda before, after: is_word(before) != is_word(after),
    "B": lambda before, after: is_word(before) == is_word(after),
}
_OF_LINES: Mapping[str, Condition] = {
    "A": lambda before, after: before in (None, "\n"),
    "z": lambda before, after: after in (None, "\n"),
}


class Unsayable(Exception):
    """A pattern that may be right, but cannot be run here."""


@functools.lru_cache(1024)
def compiled(pattern: str) -> Automaton:
    """The pattern, to be searched for.

    Raises:
        Unsayable: It cannot be run here.
        re.error: It is no pattern.
    """
    try:
        return Automaton(_Reader(pattern).whole())
    except TooLarge:
        raise Unsayable(pattern) from None


def matches(pattern: str, text: str) -> bool:
    """Whether a text has what a pattern describes; any text, if the pattern cannot be run here."""
    try:
        return compiled(pattern).is_in(text)
    except Unsayable:
        return True


def is_sayable(pattern: str) -> bool:
    """Whether a pattern can be run here, or is none at all."""
    try:
        compiled(pattern)
    except Unsayable:
        return False
    except re.error:
        pass
    return True


class _Reader:
    """Reads one pattern from its beginning to its end."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._place = 0
        self._depth = 0
        # What holds from here to the end of the group.
        self._flags = frozenset[str]()

    def whole(self) -> Part:
        part = self._alternatives()
        if self._place < len(self._pattern):
            raise re.error("unexpected )")
        return part

    def _alternatives(self) -> Part:
        """Up to the end of a group."""
        if self._depth > _DEEPEST:
            raise Unsayable(self._pattern)
        parts = [self._sequence()]
        while self._next() == "|":
            self._place += 1
            parts.append(self._sequence())
        return choice(parts) if len(parts) > 1 else parts[0]

    def _sequence(self) -> Part:
        parts: list[Part] = []
        repeatable = False
        while (one := self._next()) and one not in "|)":
            if times := _TIMES.match(self._pattern, self._place):
                if not repeatable:
                    raise re.error(f"missing argument to repetition operator: {times[0]}")
                parts[-1] = repeated(parts[-1], *_bounds(times))
                self._place, repeatable = times.end(), False
            else:
                part = self._part(one)
                parts += [] if part is None else [part]
                repeatable = part is not None
        return sequence(parts)

    def _part(self, one: str) -> Part | None:
        """A character, a condition or a group; None for flags."""
        match one:
            case "(":
                return self._group()
            case "[":
                start, self._place = self._place, _end_of_set(self._pattern, self._place)
                return self._character(_set(self._pattern[start : self._place]))
            case "\\":
                return self._escape()
        self._place += 1
        match one:
            case "^" | "$":
                which = "A" if one == "^" else "z"
                return condition((_OF_LINES if "m" in self._flags else _CONDITIONS)[which])
            case ".":
                return self._character(".")
        return self._character(re.escape(one))

    def _group(self) -> Part | None:
        opened, flags = _GROUP.match(self._pattern, self._place), self._flags
        if opened is None or self._pattern.startswith("?", opened.end()):
            raise re.error(f"invalid or unsupported Perl syntax: {self._pattern[self._place : self._place + 3]}")
        self._place = opened.end()
        self._flags = flags.union(opened[1] or "").difference(opened[2] or "")
        if opened[3] == ")":
            return None
        self._depth += 1
        part = self._alternatives()
        self._depth -= 1
        if self._next() != ")":
            raise re.error("missing closing )")
        self._place += 1
        self._flags = flags
        return part

    def _escape(self) -> Part:
        found = _ESCAPE.match(self._pattern, self._place)
        if found is None:
            raise re.error("trailing backslash at end of expression")
        self._place, name = found.end(), found[0][1:]
        if name in _UNSAYABLE:
            raise Unsayable(found[0])
        if name in _CONDITIONS:
            return condition(_CONDITIONS[name])
        if name == "Z":
            raise re.error(r"invalid escape sequence: \Z")
        return self._character(re.escape(_coded(found[1])) if found[1] else found[0])

    def _character(self, text: str) -> Part:
        """One character, as this language describes it."""
        flags = (re.IGNORECASE if "i" in self._flags else 0) | (re.DOTALL if "s" in self._flags else 0)
        return character(re.compile(text, re.ASCII | flags).fullmatch)

    def _next(self) -> str:
        return self._pattern[self._place : self._place + 1]


def _bounds(times: re.Match[str]) -> tuple[int, int | None]:
    """How often at least, and at most."""
    if times[1]:
        return int(times[1] == "+"), 1 if times[1] == "?" else None
    least = int(times[2])
    most = int(times[4]) if times[4] else None if times[3] else least
    if max(least, most or 0) > _MOST_TIMES or (most is not None and most < least):
        raise re.error(f"invalid repeat count: {times[0]}")
    return least, most


def _coded(digits: str) -> str:
    try:
        return chr(int(digits, 16))
    except ValueError:
        raise re.error(f"invalid escape sequence: \\x{{{digits}}}") from None


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
