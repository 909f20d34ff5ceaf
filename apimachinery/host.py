# SPDX-License-Identifier: Apache-2.0
"""The host: time, waiting, locks, threads and randomness, as one injected object.

No other code of this package sleeps, reads a clock, makes a lock or a thread, or draws a random number. In
production the host is `SystemHost`, which returns plain `threading` objects; in tests it is a simulated one, whose
time stands still until the test moves it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a program without coroutines need not import it
    import asyncio


class Lock(Protocol):
    """A mutual exclusion that is not re-entrant, for short sections that call no other component."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


class Condition(Lock, Protocol):
    """A lock with which threads can wait until the state that it guards has changed."""

    def wait_until(self, deadline: float | None) -> None:
        """Release the lock, sleep until notified or until `deadline`, and take the lock again.

        It may return early without a reason, so call it in a loop that checks the state.

        Args:
            deadline: Absolute `Clock.monotonic` seconds; None sets no deadline. If it has passed, this returns at once.
        """

    def notify(self) -> None:
        """Wake one waiter, if there is any; which one is unspecified.

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
        """Wait for the thread, and return whether it ended by `deadline` (monotonic seconds; None waits forever)."""

    def stack(self) -> str:
        """Return the thread's present stack as text, the innermost call last; empty once it has ended."""


class Clock(Protocol):
    """The two clocks of a host. A reconciler should hold no other part of it.

    Threads: any.
    """

    def now(self) -> datetime:
        """Return the wall clock's time as an aware UTC datetime, for what is written to the API.

        It can jump forwards and backwards, so no decision may depend on it.
        """

    def monotonic(self) -> float:
        """Return seconds from an arbitrary origin, for every decision; they mean nothing on another host."""


class Host(Clock, Protocol):
    """A host: clocks, waiting, locks, threads and randomness.

    `SystemHost` is the real machine; the hosts of a simulation keep the same contract under virtual time.

    Threads: any, for every method.
    """

    name: str
    """The name of the machine, unique in its cluster; identities begin with it."""

    random: random.Random
    """The only source of randomness, for jitter and names; not for secrets."""

    def elapsed(self) -> float:
        """Return seconds from an arbitrary origin, with those for which the machine was suspended, if they are known.

        `monotonic` stands still on a machine that sleeps. Compare this with itself alone, where another machine may act
        once a time has passed, as with a lease.
        """

    def uuid(self) -> str:
        """Return a new random (version 4) UUID in its usual text form."""

    def lock(self, label: str) -> Lock:
        """Return a new lock. A simulation names it by `label` when threads hang."""

    def condition(self, label: str) -> Condition:
        """Return a new condition with a lock of its own. A simulation names it by `label` when threads hang."""

    def spawn(self, name: str, target: Callable[[], None], *, daemon: bool = False) -> Thread:
        """Start `target` on a new thread, in a copy of the caller's context variables, and return the thread.

        An exception that `target` does not catch is a bug: it goes to `threading.excepthook` on the real machine, and
        fails the run in a simulation. Use `core.stop.spawn` for a thread whose failure has to stop others.

        Args:
            name: The thread's name.
            target: Runs on it.
            daemon: Let the process end without waiting for the thread. Only for a system call that cannot be
                interrupted, such as a resolver's, and that leaves nothing half done.
        """

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Return a new asyncio event loop, to be run on a thread of this host, whose time is `monotonic`.

        On the real machine it is asyncio's own, with sockets, subprocesses and executors. The loop of a simulation
        waits in virtual time, and refuses everything that needs a real machine with a `UsageError`.
        """

    def leaving(self, label: str) -> None:
        """Announce a call that leaves the process: a request, or a read of a stream.

        On the real machine this does nothing. In a simulation another thread may run at this point, and it is an
        error if the caller holds a lock.
        """
