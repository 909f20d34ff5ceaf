# SPDX-License-Identifier: Apache-2.0
"""The part of RE2's syntax that most schemas use, for a Python that has no wheel of google-re2.

It matches as RE2 does (Pike's machine): all alternatives advance together, so a match takes at most one step for each
instruction and character. A pattern beyond the subset is refused, never read in another sense.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from typing import TypeAlias

LONGEST_PROGRAM = 5000
"""Most instructions of a pattern, of which repetitions by a number make copies; a match needs memory in proportion."""

DEEPEST = 50
"""Most groups inside one another; the parser calls itself for each."""

Ranges: TypeAlias = tuple[tuple[str, str], ...]
# An instruction is the ranges of a character; `^`, `$` or `match`; or places where to go on, the preferred one first.
Program: TypeAlias = list[Ranges | str | list[int]]
# The instructions of a part of a pattern, for the place at which they begin.
Code: TypeAlias = Callable[[int], Program]

_DIGITS: Ranges = (("0", "9"),)
_WORD: Ranges = (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z"))
_SPACE: Ranges = (("\t", "\n"), ("\f", "\r"), (" ", " "))  # without the vertical tab, unlike Python's
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_LETTERS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_REPETITIONS = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}
_LAST = "\U0010ffff"


class BeyondSubset(ValueError):
    """A regular expression is outside of the supported subset, or too large. RE2 might accept or refuse it."""


class _PatternParser:
    """Parses a pattern into a program."""

    def __init__(self, pattern: str) -> None:
        self._rest = pattern
        self._depth = 0

    def program(self) -> Program:
        code = self._alternatives()
        if self._rest:
            raise BeyondSubset(f"{self._rest[0]!r} without its beginning")
        return _bounded([*code(0), "match"])

    def _take(self, text: str) -> bool:
        if not self._rest.startswith(text):
            return False
        self._rest = self._rest[len(text) :]
        return True

    def _next(self) -> str:
        if not self._rest:
            raise BeyondSubset("the pattern ends too early")
        first, self._rest = self._rest[0], self._rest[1:]
        return first

    def _alternatives(self) -> Code:
        code = self._sequence()
        if not self._take("|"):
            return code
        return _either(code, self._alternatives())

    def _sequence(self) -> Code:
        parts: list[Code] = []
        while self._rest and self._rest[0] not in "|)":
            parts.append(self._repeated(self._atom()))
        return _together(parts)

    def _atom(self) -> Code:
        first = self._next()
        match first:
            case "(":
                return self._group()
            case "[":
                return _one(self._class())
            case ".":
                return _one(_without((("\n", "\n"),)))
            case "^" | "$":
                return _one(first)
            case "\\":
                return _one(self._escaped())
            case "*" | "+" | "?" | "{" | "}" | "]" | ")":
                raise BeyondSubset(f"{first!r} where nothing is repeated or opened")
        return _one(((first, first),))

    def _group(self) -> Code:
        if self._take("?") and not self._take(":"):
            raise BeyondSubset("a group with a flag or a name")
        self._depth += 1
        if self._depth > DEEPEST:
            raise BeyondSubset("too many groups inside one another")
        code = self._alternatives()
        self._depth -= 1
        if not self._take(")"):
            raise BeyondSubset("a group without its end")
        return code

    def _escaped(self) -> Ranges | str:
        letter = self._next()
        if letter in string.punctuation:
            return ((letter, letter),)
        if letter in _LETTERS:
            return ((_LETTERS[letter], _LETTERS[letter]),)
        if letter in "Az":
            return "^" if letter == "A" else "$"
        if letter.lower() not in _CLASSES:
            raise BeyondSubset(f"\\{letter}")
        ranges = _CLASSES[letter.lower()]
        return ranges if letter.islower() else _without(ranges)

    def _class(self) -> Ranges:
        negated, ranges = self._take("^"), list[tuple[str, str]]()
        if self._rest.startswith("]"):
            raise BeyondSubset("a class that begins with ]")
        while not self._take("]"):
            ranges += self._range()
        return _without(tuple(ranges)) if negated else tuple(ranges)

    def _range(self) -> Ranges:
        low = self._member()
        if not self._rest.startswith("-") or self._rest.startswith("-]"):
            return low
        self._next()
        high = self._member()
        if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or high[0][0] != high[0][1] or low > high:
            raise BeyondSubset("a range between what are no characters, or backwards")
        return ((low[0][0], high[0][0]),)

    def _member(self) -> Ranges:
        first = self._next()
        if first == "[" and self._rest[:1] in (":", "=", "."):
            raise BeyondSubset("a named class")
        if first != "\\":
            return ((first, first),)
        escaped = self._escaped()
        if isinstance(escaped, str):
            raise BeyondSubset("an anchor in a class")
        return escaped

    def _repeated(self, code: Code) -> Code:
        if not self._rest or self._rest[0] not in "*+?{":
            return code
        sign = self._next()
        least, most = self._numbers() if sign == "{" else _REPETITIONS[sign]
        is_lazy = self._take("?")
        if self._rest[:1] in ("*", "+", "?", "{"):
            raise BeyondSubset("a repetition of a repetition")
        return _times(code, least, most, is_lazy)

    def _numbers(self) -> tuple[int, int]:
        inner, end, self._rest = self._rest.partition("}")
        low, comma, high = inner.partition(",")
        if not end or not low.isdecimal() or not low.isascii() or (high and not (high.isdecimal() and high.isascii())):
            raise BeyondSubset("{ that begins no number of repetitions")
        least = int(low)
        most = int(high) if high else -1 if comma else least
        if max(least, most) > 1000 or 0 <= most < least:
            raise BeyondSubset("too many repetitions, or fewer at most than at least")
        return least, most


def _bounded(code: Program) -> Program:
    if len(code) > LONGEST_PROGRAM:
        raise BeyondSubset(f"it has more than {LONGEST_PROGRAM} instructions")
    return code


def _one(instruction: Ranges | str) -> Code:
    return lambda at: [instruction]


def _together(parts: list[Code]) -> Code:
    def code(at: int) -> Program:
        made: Program = []
        for part in parts:
            made += part(at + len(made))
            _bounded(made)
        return made

    return code


def _either(first: Code, second: Code) -> Code:
    def code(at: int) -> Program:
        one = first(at + 1)
        two = second(at + 2 + len(one))
        return _bounded([[at + 1, at + 2 + len(one)], *one, [at + 2 + len(one) + len(two)], *two])

    return code


def _times(part: Code, least: int, most: int, is_lazy: bool) -> Code:
    """Return the code of a part that is repeated; `most` is -1 without an end."""

    def optional(inner: Code) -> Code:
        def code(at: int) -> Program:
            made = inner(at + 1)
            ways = [at + 1, at + 1 + len(made)]
            return [ways[::-1] if is_lazy else ways, *made]

        return code

    def plus(at: int) -> Program:
        made = part(at)
        ways = [at, at + len(made) + 1]
        return [*made, ways[::-1] if is_lazy else ways]

    if most < 0:  # as RE2: `x*` is `(x+)?`, which makes a difference if x matches nothing
        return _together([*[part] * (least - 1), plus]) if least else optional(plus)
    rest = _together([])
    for _ in range(most - least):
        rest = optional(_together([part, rest]))
    return _together([*[part] * least, rest])


def _without(ranges: Ranges) -> Ranges:
    """Return the characters that are in none of the ranges."""
    left, low = list[tuple[str, str]](), 0
    for first, last in sorted(ranges):
        if ord(first) > low:
            left.append((chr(low), chr(ord(first) - 1)))
        low = max(low, ord(last) + 1)
    if low <= ord(_LAST):
        left.append((chr(low), _LAST))
    return tuple(left)


class SubsetPattern:
    """A compiled regular expression in a subset of RE2's syntax, with the methods of `patterns.Pattern`. Threads: any.

    Raises:
        BeyondSubset: The pattern uses syntax outside of the subset, or is too long or too deeply nested.
    """

    def __init__(self, pattern: str) -> None:
        try:
            self._program = _PatternParser(pattern).program()
        except RecursionError:
            raise BeyondSubset("it is too long") from None
        self.size = len(self._program)

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in `text`."""
        return self._find(text, 0, is_any_enough=True) is not None

    def steps(self, characters: int) -> int:
        """Return the maximum cost of a search in a text of `characters` characters, in steps of 0.1 µs."""
        return 1 + 4 * characters * self.size

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each match in `text`; the matches do not overlap."""
        at = 0
        while (found := self._find(text, at)) is not None:
            yield found
            if at == len(text):
                return
            at = at + 1 if found[1] == at else found[1]

    def _find(self, text: str, begin: int, *, is_any_enough: bool = False) -> tuple[int, int] | None:
        best: tuple[int, int] | None = None
        threads: dict[int, int] = {}  # the beginning of each match that is under way, by its place; preferred first
        for at in range(begin, len(text) + 1):
            if best is None:
                self._add(threads, 0, at, at, len(text))
            following: dict[int, int] = {}
            for place, start in threads.items():
                instruction = self._program[place]
                if instruction == "match":
                    best = (start, at)
                    break  # the threads behind are worth less than this match
                if type(instruction) is tuple and at < len(text):
                    letter = text[at]
                    if any(first <= letter <= last for first, last in instruction):
                        self._add(following, place + 1, start, at + 1, len(text))
            threads = following
            if best is not None and (is_any_enough or not threads):
                break
        return best

    def _add(self, threads: dict[int, int], place: int, start: int, at: int, end: int) -> None:
        """Add a thread at a place and at all those that it reaches without a character, the preferred ones first."""
        left = [place]
        while left:
            here = left.pop()
            if here in threads:
                continue
            threads[here] = start  # places of ways and anchors, too, so that each is looked at once
            instruction = self._program[here]
            if type(instruction) is list:
                left += reversed(instruction)
            elif (instruction == "^" and at == 0) or (instruction == "$" and at == end):
                left.append(here + 1)
