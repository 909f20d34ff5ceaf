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
    """A mutex that is not re-entrant, for short sections that call no other component."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


class Condition(Lock, Protocol):
    """A lock with which threads can wait for a change of the state that it guards."""

    def wait_until(self, deadline: float | None) -> None:
        """Release the lock, sleep until notified or until `deadline`, and acquire the lock again.

        It may return early without a reason (a spurious wakeup), so call it in a loop that checks the state.

        Args:
            deadline: A time in seconds of `Clock.monotonic`; None sets no deadline. If it has passed, the call does not
                wait.
        """

    def notify(self) -> None:
        """Wake one waiting thread, if there is one; which one is unspecified.

        Raises:
            RuntimeError: The calling thread does not hold the lock.
        """

    def notify_all(self) -> None:
        """Wake every waiting thread.

        Raises:
            RuntimeError: The calling thread does not hold the lock.
        """


class Thread(Protocol):
    """A thread that was started."""

    name: str

    def join_until(self, deadline: float | None) -> bool:
        """Wait until the thread ends or `deadline` passes (seconds of `Clock.monotonic`; None waits forever).

        Return whether the thread has ended.
        """

    def stack(self) -> str:
        """Return the thread's current stack as text, the innermost call last; empty once the thread has ended."""


class Clock(Protocol):
    """The two clocks of a host. A reconciler should be given a `Clock` rather than a whole `Host`.

    Threads: any.
    """

    def now(self) -> datetime:
        """Return the wall clock's time as an aware UTC datetime, for timestamps in API objects.

        The wall clock can jump forwards and backwards, so no decision may depend on it.
        """

    def monotonic(self) -> float:
        """Return seconds since an arbitrary origin. Use them for every decision; they cannot be compared between
        hosts.
        """


class Host(Clock, Protocol):
    """The source of time, waiting, locks, threads and randomness.

    `SystemHost` is the real machine; the hosts of a simulation keep the same contract under virtual time.

    Threads: any, for every method.
    """

    name: str
    """The name of the machine, unique in its cluster; identities begin with it."""

    random: random.Random
    """The only source of randomness, for jitter and names; not for secrets."""

    def elapsed(self) -> float:
        """Return seconds since an arbitrary origin, including the time while the machine was suspended, if that is
        known.

        `monotonic` stands still while the machine is suspended. Use `elapsed` where another machine may act after a
        period, as with a lease, and compare its values only with each other.
        """

    def uuid(self) -> str:
        """Return a new random (version 4) UUID in its usual text form."""

    def lock(self, label: str) -> Lock:
        """Return a new lock. `label` names it in a simulation's report of threads that hang."""

    def condition(self, label: str) -> Condition:
        """Return a new condition with its own lock. `label` names it in a simulation's report of threads that hang."""

    def spawn(self, name: str, target: Callable[[], None], *, daemon: bool = False) -> Thread:
        """Start `target` on a new thread, in a copy of the caller's context variables, and return the thread.

        An uncaught exception of `target` is a bug: on the real machine it goes to `threading.excepthook`, in a
        simulation it fails the run. Use `core.stop.spawn` for a thread whose failure has to stop others.

        Args:
            name: The thread's name.
            target: The function to run on the thread.
            daemon: True if the process may exit while the thread runs. Use it only for a system call that cannot be
                interrupted, such as a DNS lookup, and that leaves nothing half done.
        """

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Return a new asyncio event loop for a thread of this host. The loop's time is `monotonic`.

        On the real machine it is a loop of asyncio, with sockets, subprocesses and executors. The loop of a simulation
        waits in virtual time, and raises `UsageError` for everything that needs a real machine.
        """

    def leaving(self, label: str) -> None:
        """Announce a call that leaves the process, such as a request or a read from a stream; `label` names the call.

        On the real machine this does nothing. In a simulation another thread may run at this point, and a caller that
        holds a lock fails the run.
        """
