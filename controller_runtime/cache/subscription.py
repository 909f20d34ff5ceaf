# SPDX-License-Identifier: Apache-2.0
"""A callback on a thread of its own: it may be slow, remember and act, and delays nobody."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from controller_runtime.cache.latch import Latch
from controller_runtime.cache.store import Delta
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.stop import Stop, spawn


class Subscription:
    """Hands deltas to one callback, each once, in order; made by `Informer.subscribe`.

    The backlog is unbounded, because the store must not wait for a callback; watch
    `backlog`. What the callback raises ends it and stops the program: it may remember, and
    what it has missed it would never know.

    Attributes:
        name: Of the thread.
        thread: Where it runs; None before the informer does.
        ended: Whether that has ended.

    Threads: any, for every method; the callback runs on this subscription's own.
    """

    def __init__(self, host: Host, callback: Callable[[Delta], None], name: str) -> None:
        self.name = name
        self.thread: Thread | None = None
        self.ended = False
        self._host = host
        self._callback = callback
        self._synced = Latch(host, f"{name} synced")
        # Guards the backlog and the flag.
        self._condition = host.condition(name)
        self._backlog: deque[Delta | None] = deque()  # None stands where the initial list ends
        self._closed = False
        self._remove: Callable[[], None] | None = None

    @property
    def backlog(self) -> int:
        """How many deltas wait for the callback."""
        return len(self._backlog)

    def has_synced(self) -> bool:
        """True once the callback has seen the whole initial list."""
        return self._synced.is_set()

    def wait_for_sync(self, stop: Stop, deadline: float | None) -> bool:
        """Wait until `has_synced`, `deadline` (absolute monotonic seconds) or `stop`; whether it has."""
        return self._synced.wait(stop, deadline)

    def close(self) -> None:
        """End it: what waits is dropped, a callback that runs is not waited for. Idempotent; from the callback too."""
        self.end()
        if self._remove is not None:
            self._remove()

    def attach(self, add: Callable[[Callable[[Delta], None], Callable[[], None]], Callable[[], None]]) -> None:
        """Begin to collect deltas; `add` is `Delivery.add`."""
        self._remove = add(self._put, lambda: self._put(None))

    def start(self, stop: Stop, program: Stop) -> None:
        """Begin to call; ends with `stop`, and a failure stops `program`."""
        self.thread = spawn(self._host, program, self.name, lambda: self._run(stop))

    def end(self) -> None:
        """Make the thread end, without leaving the delivery."""
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
        """Handle the next item; False once closed."""
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
