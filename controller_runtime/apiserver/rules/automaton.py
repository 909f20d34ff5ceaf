# SPDX-License-Identifier: Apache-2.0
"""Regular expressions run in time that grows with the text alone, whatever the expression: no way is tried twice.

All ways through the expression are gone at once, a character at a time; where they lead
is remembered, so that what has been seen before costs one look.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

MOST = 10_000
"""How many places a pattern may have, each repetition counted as often as it may repeat."""

_REMEMBERED = 4096
_FOUND = 0  # the place at the end of every pattern

Side = str | None
"""A character beside a place between two, or none at an end of the text."""

Condition = Callable[[Side, Side], bool]
"""Whether one may pass between two characters."""


class TooLarge(Exception):
    """A pattern with too many places."""


class _Place(NamedTuple):
    """Passed by a character, on a condition, or freely; and where that leads."""

    after: tuple[int, ...]
    accepts: Callable[[str], object] | None = None
    condition: Condition | None = None


class Part(NamedTuple):
    """A part of a pattern: at most how many places it has, and what adds them before what comes after."""

    size: int
    add: Callable[[list[_Place], int], int]


def character(accepts: Callable[[str], object]) -> Part:
    """One character."""
    return _place(lambda after: _Place((after,), accepts=accepts))


def condition(holds: Condition) -> Part:
    """No character, on a condition."""
    return _place(lambda after: _Place((after,), condition=holds))


def sequence(parts: Sequence[Part]) -> Part:
    """One after the other."""

    def add(places: list[_Place], after: int) -> int:
        for part in reversed(parts):
            after = part.add(places, after)
        return after

    return _sized(sum(part.size for part in parts) + 1, add)


def choice(parts: Sequence[Part]) -> Part:
    """Any one of them."""

    def add(places: list[_Place], after: int) -> int:
        return _put(places, _Place(tuple(part.add(places, after) for part in parts)))

    return _sized(sum(part.size for part in parts) + 1, add)


def repeated(part: Part, least: int, most: int | None) -> Part:
    """The same again and again; None for no end."""

    def add(places: list[_Place], after: int) -> int:
        first = after
        if most is None:
            first = _put(places, _Place(()))
            places[first] = _Place((part.add(places, first), after))
        for _ in range((most or least) - least):
            first = _put(places, _Place((part.add(places, first), after)))
        for _ in range(least):
            first = part.add(places, first)
        return first

    return _sized((part.size + 1) * max(least + 1, most or 0), add)


def _place(made: Callable[[int], _Place]) -> Part:
    return Part(1, lambda places, after: _put(places, made(after)))


def _sized(size: int, add: Callable[[list[_Place], int], int]) -> Part:
    if size > MOST:
        raise TooLarge
    return Part(size, add)


def _put(places: list[_Place], place: _Place) -> int:
    places.append(place)
    return len(places) - 1


class _Where(NamedTuple):
    """The places reached, and the kind of the character before."""

    places: frozenset[int]
    before: Side


class Automaton:
    """A pattern, to be searched for.

    Args:
        whole: All of it.

    Threads: any; what is remembered is only ever added to, or forgotten at once.
    """

    def __init__(self, whole: Part) -> None:
        self._places = [_Place(())]
        self._first = whole.add(self._places, _FOUND)
        # None: found.
        self._steps: dict[tuple[_Where, str], _Where | None] = {}

    def is_in(self, text: str) -> bool:
        """Whether some part of the text is as the pattern says."""
        where: _Where | None = _Where(frozenset((self._first,)), None)
        for one in text:
            if where is None:
                return True
            step = where, one
            where = self._steps[step] if step in self._steps else self._step(where, one)
        return where is None or _FOUND in self._reached(where, None)

    def _step(self, where: _Where, one: str) -> _Where | None:
        reached, following = self._reached(where, one), None
        if _FOUND not in reached:
            passed = [self._places[index] for index in reached]
            led = {place.after[0] for place in passed if place.accepts is not None and place.accepts(one)}
            following = _Where(frozenset((*led, self._first)), _kind(one))
        if len(self._steps) >= _REMEMBERED:
            self._steps = {}
        self._steps[where, one] = following
        return following

    def _reached(self, where: _Where, following: Side) -> set[int]:
        """The places where one can be before the next character."""
        reached, waiting = set[int](), list(where.places)
        while waiting:
            index = waiting.pop()
            if index not in reached:
                reached.add(index)
                place = self._places[index]
                if place.accepts is None and (place.condition is None or place.condition(where.before, following)):
                    waiting += place.after
        return reached


def _kind(one: str) -> str:
    """A character that stands for all that conditions do not tell apart."""
    return one if one == "\n" else "a" if is_word(one) else " "


def is_word(one: Side) -> bool:
    """Whether it is a letter, a digit or an underscore of ASCII."""
    return one is not None and re.fullmatch(r"\w", one, re.ASCII) is not None
