# SPDX-License-Identifier: Apache-2.0
"""What a program runs on: time, waiting, locks, threads and chance, as one injected object.

Nothing else in the house sleeps, reads a clock, makes a lock or a thread, or draws
a random number. Production injects `SystemHost`, which hands out bare `threading`
objects; tests and simulations inject a twin whose time stands still until it is moved.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import Protocol


class Lock(Protocol):
    """A mutual exclusion for short sections that call nobody; not re-entrant."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


class Condition(Lock, Protocol):
    """A lock on whose state one can wait."""

    def wait_until(self, deadline: float | None) -> None:
        """Release the lock, sleep until notified or `deadline`, take the lock again.

        May return early for no reason: callers loop over their own predicate.

        Args:
            deadline: Absolute `Clock.monotonic` seconds; None is for ever. One
                already past returns at once.
        """

    def notify(self) -> None:
        """Wake one waiter, if any; which one is unspecified.

        Raises:
            RuntimeError: The caller does not hold the lock.
        """

    def notify_all(self) -> None:
        """Wake every waiter.

        Raises:
            RuntimeError: The caller does not hold the lock.
        """


class Thread(Protocol):
    """A thread that has been started."""

    name: str

    def join_until(self, deadline: float | None) -> bool:
        """Wait for the thread to end; True if it has by `deadline` (absolute monotonic seconds, None: for ever)."""

    def stack(self) -> str:
        """Where the thread stands now, the innermost call last; empty once it has ended."""


class Clock(Protocol):
    """What time it is, in two ways: all of a `Host` that a reconciler may hold.

    Threads: any.
    """

    def now(self) -> datetime:
        """Aware UTC, for what is written to the API; it may jump either way, so never decide on it."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary origin, for every decision; meaningless on another host."""


class Host(Clock, Protocol):
    """What a program runs on: time, waiting, locks, threads and chance, for whoever loops.

    `SystemHost` is the real machine; a simulation's hosts keep the same contract under virtual time.
    Nobody else sleeps, reads a clock, makes a lock or a thread, or draws by chance.

    Threads: any, for every method.
    """

    name: str
    """Unique in the system; the seed of identities."""

    random: random.Random
    """The only chance. For spreading load and drawing names, not for secrets."""

    def uuid(self) -> str:
        """A new random (version 4) UUID in its usual text form."""

    def lock(self, label: str) -> Lock:
        """A new lock; `label` is what a hang report prints."""

    def condition(self, label: str) -> Condition:
        """A new condition with its own lock; `label` is what a hang report prints."""

    def spawn(self, name: str, target: Callable[[], None], *, daemon: bool = False) -> Thread:
        """Start `target` on a new thread, in a copy of the caller's context variables.

        A `daemon` is not waited for when the process ends: only for a call into the system that nobody
        can end, such as a resolver's, and that leaves nothing half done.

        An exception that leaves `target` is a bug of the caller's: it reaches
        `threading.excepthook` here and fails the run in a simulation. Use
        `core.stop.spawn` for a thread whose failure stops its program.
        """

    def leaving(self, label: str) -> None:
        """Announce a call that leaves the process (a request, a read of a stream).

        Costs nothing in production. In a simulation it is a point at which another
        thread may run, and an error while the caller holds a lock.
        """
