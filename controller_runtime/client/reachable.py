# SPDX-License-Identifier: Apache-2.0
"""Ends waits for a server that was lost, as soon as it answers another request of this process."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.stop import Stop


class ServerReachable:
    """Wakes threads that wait for a lost server, as soon as `answered` reports its answer to another request.

    Only an answer that comes during a wait counts: an earlier one proves nothing about now.

    Args:
        host: The source of the time and the lock.

    Threads: any, for every method.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the two fields below.
        self._condition = host.condition("server reachable")
        self._waiting = 0
        self._answers = 0  # those that came while a thread waited

    def answered(self) -> None:
        """Wake all waiting threads, because the server has answered a request."""
        # Read without the lock, because this is called for each request and hardly ever does a thread wait. A thread
        # that begins to wait at this moment misses one answer, and waits for the next or to the end of its delay.
        if self._waiting:
            with self._condition:
                self._answers += 1
                self._condition.notify_all()

    def wait(self, stop: Stop, seconds: float) -> bool:
        """Wait for `seconds`, for an answer of the server, or for `stop`; return whether an answer came."""
        deadline = self._host.monotonic() + seconds
        forget = stop.on_set(self._wake)
        try:
            with self._condition:
                before = self._answers
                self._waiting += 1
                try:
                    while self._answers == before and not stop.is_set() and self._host.monotonic() < deadline:
                        self._condition.wait_until(deadline)
                finally:
                    self._waiting -= 1
                return self._answers != before
        finally:
            forget()

    def _wake(self) -> None:
        with self._condition:
            self._condition.notify_all()
