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
    """A call of the program under test to a fake of an outside service, which is one outside of the cluster.

    Attributes:
        outside: The name of the outside service.
        text: The method and its arguments, as in source code; of a request its method and path.
        reads: True if the call changes nothing.
        may_repeat: True if the service may carry the call out twice.
        may_be_past: True if the call may be answered with the state before the last change.
        is_opaque: True if the effects of the call cannot be seen, so that it counts as a change.
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
    """Return a call as source code, such as `Broker.create('a')`; each argument is cut to 60 characters.

    A single argument with an attribute `as_call` is a request that says itself what it asks, such as
    `HTTPService PUT /topics/a`.

    Args:
        outside: The name of the outside service.
        method: The name of the called method.
        args: The positional arguments.
        kwargs: The keyword arguments.
    """
    if len(args) == 1 and (said := getattr(args[0], "as_call", None)):
        return f"{outside} {said}"
    given = [*map(_short, args), *(f"{name}={_short(value)}" for name, value in kwargs.items())]
    return f"{outside}.{method}({', '.join(given)})"


def _short(value: object) -> str:
    text = _ADDRESS.sub("", repr(value))
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


class Watched(Protocol):
    """The part of a `Line`, which connects the callers of a fake with the fake, that an observer needs."""

    @property
    def name(self) -> str:
        """The name of the outside service."""

    @property
    def fake(self) -> Any:
        """The fake itself; calls of its methods have no faults."""

    @property
    def is_awaited(self) -> bool:
        """True while a call with a fault is under way, or a late one is still to be carried out, even if its caller has
        given up.
        """

    def present(self) -> Snapshot:
        """Return a snapshot of the present state of the fake, as JSON values by name."""

    def notice(self) -> None:
        """Report to the observer changes of the state that were not made by a call."""

    def calling(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls a method of the fake, and may have the faults that the observer chooses.

        Args:
            name: The name of the method.
            method: The method itself.
        """


class Observer:
    """Is notified of calls to outside services and chooses their faults; this base class chooses no faults.

    Threads: those of a simulation, which run one at a time.
    """

    def added(self, line: Watched) -> None:
        """Called when a test has put a fake of an outside service into its cluster."""

    def begins(self, call: Call) -> tuple[int, Course]:
        """Return a number for a call that the program begins, and how the call goes."""
        return 0, AS_USUAL

    def changed(self, line: Watched, number: int, found: Sequence[Changed]) -> None:
        """Called when a call has changed the state of a fake.

        Args:
            line: The connection to the fake.
            number: The number that `begins` returned for the call; 0 for a caller other than the program.
            found: The changes.
        """

    def acted(self, line: Watched, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Called before `changed` when the test itself has changed the state of a fake by a call of `method`."""

    def moved(self, line: Watched, found: Sequence[Changed]) -> None:
        """Called when the state of a fake has changed without a call."""

    def end_program(self) -> None:
        """End the program under test; called on one of its threads."""
