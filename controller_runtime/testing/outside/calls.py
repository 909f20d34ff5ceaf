# SPDX-License-Identifier: Apache-2.0
"""A call to an outside service, and the observers that are notified of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from controller_runtime.testing.outside.courses import AS_USUAL, Course
from controller_runtime.testing.outside.snapshots import Changed, Snapshot

_LONG = 60
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@attrs.frozen
class Call:
    """A call of the program under test to an outside service.

    Attributes:
        outside: The name of the outside service.
        text: The method and its arguments.
        reads: Whether it changes nothing.
        may_repeat: Whether it may be carried out twice.
        may_be_past: Whether it may be answered as if the last change had not been made.
        is_opaque: Whether its effects cannot be seen, so that it counts as one that changes something.
    """

    outside: str
    text: str
    reads: bool = False
    may_repeat: bool = False
    may_be_past: bool = False
    is_opaque: bool = False

    def __str__(self) -> str:
        return self.text


def text_of(outside: str, method: str, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """Return a call as it stands in a program, with short arguments."""
    given = [*map(_short, args), *(f"{name}={_short(value)}" for name, value in kwargs.items())]
    return f"{outside}.{method}({', '.join(given)})"


def _short(value: object) -> str:
    text = _ADDRESS.sub("", repr(value))
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


class Watched(Protocol):
    """The part of a line to an outside service that an observer needs."""

    @property
    def name(self) -> str:
        """The name of the outside."""

    @property
    def fake(self) -> Any:
        """The fake itself, whose methods are called without a fault."""

    @property
    def is_awaited(self) -> bool:
        """True while a call goes another way than usual, or is late though its caller may have given up."""

    def present(self) -> Snapshot:
        """Return the present state."""

    def notice(self) -> None:
        """Report to the observer changes that no call has made."""

    def calling(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls a method of the fake over this line."""


class Observer:
    """Hears of calls and decides how they go; this one lets each go as usual.

    Threads: those of a simulation, which run one at a time.
    """

    def added(self, line: Watched) -> None:
        """Called when a test has made a stand-in for an outside service."""

    def begins(self, call: Call) -> tuple[int, Course]:
        """Return the number of a call of the program, and the way in which it goes."""
        return 0, AS_USUAL

    def changed(self, line: Watched, number: int, found: Sequence[Changed]) -> None:
        """Called when the program's call with a number has changed things; 0 stands for other callers."""

    def acted(self, line: Watched, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Called before `changed` when the test has changed things by a call."""

    def moved(self, line: Watched, found: Sequence[Changed]) -> None:
        """Called when things have changed without a call."""

    def end_program(self) -> None:
        """End the program, from one of its threads."""
