# SPDX-License-Identifier: Apache-2.0
"""A callback on its own thread, so that it may be slow without delaying the cache or other handlers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from apimachinery.host import Host, Thread
from apimachinery.plain_functions import synchronous
from apimachinery.stop import Stop, spawn
from controller_runtime.cache.latch import Latch
from controller_runtime.cache.store import Delta


class Subscription:
    """Passes each delta once, in order, to one callback on a separate thread; made by `Informer.subscribe`.

    The backlog is unbounded, because the store must not wait for a callback; its length is a metric. An exception in
    the callback ends the subscription and stops the program: a callback may keep state, which would stay wrong after a
    missed delta.

    Args:
        host: The source of the thread, the time and the lock.
        callback: Receives each delta.
        name: The name of the thread.

    Attributes:
        name: As given.
        thread: The thread; None before the informer runs.
        ended: Whether the thread has ended.

    Threads: any, for every method; the callback runs on the subscription's thread.
    """

    def __init__(self, host: Host, callback: Callable[[Delta], None], name: str) -> None:
        self.name = name
        self.thread: Thread | None = None
        self.ended = False
        self._host = host
        self._callback = synchronous(name, callback)
        self._synced = Latch(host, f"{name} synced")
        # Guards the backlog and `_closed`.
        self._condition = host.condition(name)
        self._backlog: deque[Delta | None] = deque()  # None marks the end of the initial list
        self._closed = False
        self._remove: Callable[[], None] | None = None

    @property
    def backlog(self) -> int:
        """The number of deltas that wait for the callback."""
        return len(self._backlog)  # one number, so whole without the lock

    def has_synced(self) -> bool:
        """Return whether the callback has received the whole initial list."""
        return self._synced.is_set()

    def wait_for_sync(self, stop: Stop, deadline: float | None) -> bool:
        """Wait until `has_synced`, `stop` or `deadline` (absolute monotonic seconds); return `has_synced`."""
        return self._synced.wait(stop, deadline)

    def close(self) -> None:
        """End the subscription and drop the backlog; do not wait for a running callback. Idempotent.

        The callback may call this.
        """
        self.end()
        if self._remove is not None:
            self._remove()

    def attach(self, add: Callable[[Callable[[Delta], None], Callable[[], None]], Callable[[], None]]) -> None:
        """Start to collect deltas, by registering this subscription as a handler.

        Args:
            add: Registers the two functions that it gets, one for each delta and one for the end of the initial list,
                and returns a function that removes them; see `Delivery.add`.
        """
        self._remove = add(self._put, lambda: self._put(None))

    def start(self, stop: Stop, program: Stop) -> None:
        """Start the thread, which ends when `stop` is set. An exception in the callback fails `program`."""
        self.thread = spawn(self._host, program, self.name, lambda: self._run(stop))

    def end(self) -> None:
        """End the thread, without removing the handler from the delivery.

        This is a callback of the stop. A handler, which holds the delivery's lock, may set the stop; removing the
        handler needs that lock, and would be a deadlock.
        """
        with self._condition:
            self._closed = True
            self._backlog.clear()
            self._condition.notify_all()

    def _put(self, item: Delta | None) -> None:
        with self._condition:
            if not self._closed:
                self._backlog.append(item)
                self._condition.notify_all()

    def _run(self, stop: Stop) -> None:
        forget = stop.on_set(self.end)
        try:
            while self._take():
                pass
        finally:
            forget()
            self.ended = True

    def _take(self) -> bool:
        """Wait for the next item and pass it on; return False once closed."""
        with self._condition:
            while not self._backlog and not self._closed:
                self._condition.wait_until(None)
            if self._closed:
                return False
            item = self._backlog.popleft()
        if item is None:
            self._synced.set()
        else:
            self._callback(item)
        return True
