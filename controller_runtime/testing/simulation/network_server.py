# SPDX-License-Identifier: Apache-2.0
"""The receiving ends of the simulated network: mailboxes, and the threads of a server that take requests from one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from apimachinery.http import Handler
from controller_runtime.testing.simulation.simulation import SimulatedHost
from controller_runtime.testing.simulation.tasks import Task

T = TypeVar("T")

SERVER_THREADS = 3
"""The number of threads of a server; more than one, so that the schedule can interleave requests inside the server."""


class Mailbox(Generic[T]):
    """The items that have arrived at one host, in order, for its threads to take.

    Args:
        host: The host whose threads take the items.
        label: The name of the wait in the trace.
    """

    def __init__(self, host: SimulatedHost, label: str) -> None:
        self._host = host
        self._label = label
        self._items: deque[T] = deque()
        self._waiters: list[Task] = []

    def put(self, item: T) -> None:
        """Add an item, and wake a thread that waits for one. A timer may call it."""
        self._items.append(item)
        if self._waiters:
            self._host.scheduler.wake(self._waiters[0])

    def take(self, deadline: float | None) -> T | None:
        """Wait for an item, remove the first one and return it; None if there is none by `deadline`.

        Args:
            deadline: Monotonic seconds of the host; None for no limit.

        Raises:
            LockHeld: The caller holds a lock.
        """
        scheduler = self._host.scheduler
        task = scheduler.enter(self._host.machine)
        scheduler.refuse_locks(task, self._label)
        while not self._items:
            if self._host.clocks.has_reached(deadline):
                return None
            scheduler.park(task, self._label, self._waiters, self._host.clocks.instant_of(deadline))
        return self._items.popleft()


class ConnectionEnd:
    """The end of a connection.

    Attributes:
        cut: True if the connection broke or was refused, False if the server ended it or the caller closed it.
    """

    def __init__(self, *, cut: bool) -> None:
        self.cut = cut


class SimulatedServer:
    """A handler on a host, with threads that process arriving requests.

    Args:
        host: The host of the threads.
        handler: Answers requests.
    """

    def __init__(self, host: SimulatedHost, handler: Handler) -> None:
        self.host = host
        self.handler = handler
        self.inbox: Mailbox[Callable[[], None]] = Mailbox(host, "serve")
        for number in range(SERVER_THREADS):
            host.spawn(f"serve-{number}", self._serve)

    def _serve(self) -> None:
        while True:
            job = self.inbox.take(None)
            if job is not None:
                job()
