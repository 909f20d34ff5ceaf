# SPDX-License-Identifier: Apache-2.0
"""The place at which the reads, requests and questions of a running reconcile are recorded, or answered from a record.

The running attempt is in a context variable, so that no signature has to carry it. Nothing is there unless a manager
records, or a record is replayed: then a read of a cache costs one look at that variable.
"""

from __future__ import annotations

import contextlib
import contextvars
import random
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, Protocol, TypeAlias, TypeVar

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey

T = TypeVar("T")

Ended: TypeAlias = tuple[ObjectKey, float, Sequence[Any]]
"""A reconcile that has ended: its request, the monotonic seconds at its end, and its `queue.causes.Causes`."""


class Attempt(Protocol):
    """One run of a reconciler for one request. Each method gets what would answer without it.

    Resources are values of `api.resources.Resource`, which no module of this package can name.

    Threads: those of its reconcile.
    """

    def get(self, resource: Any, key: ObjectKey, read: Callable[[ObjectKey], Cached | None]) -> Cached | None:
        """Return the object that a cache shows for a key; None if it shows none."""

    def select(self, resource: Any, verb: str, what: str, read: Callable[[], Sequence[Cached]]) -> Sequence[Cached]:
        """Return the objects that `read` takes from a cache, and note the selection: `by_index` of `node=a`."""

    def ask(self, resource: Any, what: str, ask: Callable[[], T]) -> T:
        """Return another fact about a cache: a text, a number or a truth value."""

    def send(self, request: HTTPRequest, send: Callable[[], HTTPResponse]) -> HTTPResponse:
        """Return the answer to a request, or raise the error of one that got none."""

    def stream(self, request: HTTPRequest) -> None:
        """Note that a stream is opened, whose lines are not kept."""

    def clock(self, name: str, ask: Callable[[], T]) -> T:
        """Return the time of a clock: a `datetime` or seconds."""

    def chance(self) -> random.Random:
        """Return the source of this attempt's random numbers."""

    def state(self, name: str, snapshot: Callable[[], Any], restore: Callable[[Any], None]) -> None:
        """Pass what is kept between reconciles, before its first use: as JSON by `snapshot`, or back by `restore`."""

    def note(self, reason: str) -> None:
        """Note a reason for which this attempt should be kept for a later look."""


class ControllerAttempts(Protocol):
    """Begins an attempt with each reconcile of one controller, and is told how it ended. Threads: any."""

    def begin(self) -> None:
        """Begin the attempt of this thread or coroutine."""

    def take(self) -> Any:
        """Return what this thread or coroutine did since `begin`, and note nothing more; None for nothing."""

    def ended(self, attempt: Any, ended: Ended, outcome: Enum, end: object, took: float, is_late: bool) -> None:
        """Note how a reconcile ended: the outcome, the result or error, and the seconds.

        Args:
            attempt: As `take` returned it.
            ended: The reconcile.
            outcome: The outcome as which it was counted.
            end: The error that it raised, or its result.
            took: Seconds.
            is_late: Whether it took longer than it may.
        """


class AttemptRecorder(Protocol):
    """Records the reconciles of a manager. Threads: any."""

    def of(self, controller: str, timeout: float | None) -> ControllerAttempts:
        """Return the attempts of a controller; `timeout` is the seconds that one may take."""


current: contextvars.ContextVar[Attempt | None] = contextvars.ContextVar("attempt", default=None)
"""The attempt that this thread or coroutine runs; None if nothing wants to know what it does."""

current_attempt = current.get
"""Returns the attempt of the caller; None outside of one."""


@contextlib.contextmanager
def unobserved() -> Iterator[None]:
    """Let nothing that happens in the block pass the attempt, because the whole of it is one read of the attempt."""
    token = current.set(None)
    try:
        yield
    finally:
        current.reset(token)
