# SPDX-License-Identifier: Apache-2.0
"""The context variable by which a running reconcile's reads and requests are recorded, or answered from a record.

No signature has to carry the attempt, since it is in a context variable. The variable is set only if a manager records,
or a record is replayed; otherwise a read of a cache costs one look at it.
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
    """One run of a reconciler for one request, whose inputs are recorded, or replayed from a record.

    Most methods get a function that would give the answer without a record. A recording attempt calls it and keeps the
    answer; a replaying attempt may answer without calling it.

    A `resource` is a value of `api.resources.Resource`; its type is `Any` because this package must not import that
    class.

    Threads: those of its reconcile.
    """

    def get(self, resource: Any, key: ObjectKey, read: Callable[[ObjectKey], Cached | None]) -> Cached | None:
        """Return the object that a cache has for `key`; None if it has none. `read` reads the cache."""

    def select(self, resource: Any, verb: str, what: str, read: Callable[[], Sequence[Cached]]) -> Sequence[Cached]:
        """Return the objects that `read` takes from a cache, and record which were selected.

        `verb` and `what` describe the selection in the record: `by_index` and `node=a`.
        """

    def ask(self, resource: Any, what: str, ask: Callable[[], T]) -> T:
        """Return a fact about the cache of `resource`, such as its version: a text, a number or a truth value.

        `ask` finds the fact, and `what` names it in the record.
        """

    def send(self, request: HTTPRequest, send: Callable[[], HTTPResponse]) -> HTTPResponse:
        """Return the answer to `request`.

        A recording attempt calls `send`, which sends the request, and records the answer. A replaying one returns the
        recorded answer, or raises the recorded error.
        """

    def stream(self, request: HTTPRequest) -> None:
        """Record that `request` opens a stream. The lines of the stream are not recorded."""

    def clock(self, name: str, ask: Callable[[], T]) -> T:
        """Return the time of the clock `name`: a `datetime`, or seconds. `ask` reads the clock."""

    def chance(self) -> random.Random:
        """Return the random number generator of this reconcile, whose seed is recorded."""

    def state(self, name: str, snapshot: Callable[[], Any], restore: Callable[[Any], None]) -> None:
        """Record or restore state that a reconciler keeps between reconciles; call it before the state is first used.

        A recording attempt keeps the value of `snapshot`, which must be JSON. A replaying one passes that value to
        `restore`.
        """

    def note(self, reason: str) -> None:
        """Add a reason to keep the record of this reconcile after it has ended."""


class ControllerAttempts(Protocol):
    """Records the reconciles of one controller. Threads: any.

    A reconcile is one call of the reconciler; its attempt is the record of what it reads and sends.
    """

    def begin(self) -> None:
        """Begin to record the reconcile that this thread or coroutine runs."""

    def take(self) -> Any:
        """End the recording that `begin` started on this thread or coroutine; return it, or None if it is empty."""

    def ended(self, attempt: Any, ended: Ended, outcome: Enum, end: object, took: float, is_late: bool) -> None:
        """Record how a reconcile ended.

        Args:
            attempt: As `take` returned it.
            ended: The reconcile.
            outcome: The outcome under which the metrics count the reconcile.
            end: The error that the reconcile raised, or its result.
            took: Its duration in seconds.
            is_late: True if it exceeded the timeout of its controller.
        """


class AttemptRecorder(Protocol):
    """Records the reconciles of a manager. Threads: any."""

    def of(self, controller: str, timeout: float | None) -> ControllerAttempts:
        """Return the recorder of the attempts of one controller.

        `timeout` is the time limit of a reconcile in seconds.
        """


current: contextvars.ContextVar[Attempt | None] = contextvars.ContextVar("attempt", default=None)
"""The attempt that this thread or coroutine runs; None if nothing is recorded or replayed."""

current_attempt = current.get
"""Returns the attempt of the caller; None outside of one."""


@contextlib.contextmanager
def unobserved() -> Iterator[None]:
    """Return a context manager: nothing inside the block is recorded as part of the running attempt.

    It is for a read that the attempt records as a whole, whose own reads would otherwise be recorded again.
    """
    token = current.set(None)
    try:
        yield
    finally:
        current.reset(token)
