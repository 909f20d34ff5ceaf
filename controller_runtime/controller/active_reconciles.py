# SPDX-License-Identifier: Apache-2.0
"""The number of coroutines that reconcile at one time, for the threads that wait for it to change."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.stop import Stop


class ActiveReconciles:
    """Counts the reconciles that were handed to an event loop and have not ended, up to a limit.

    Args:
        host: The source of the lock's condition.
        limit: The most reconciles at a time.

    Threads: `wait_for_room` and `add` from one, the rest from any.
    """

    def __init__(self, host: Host, limit: int) -> None:
        self._limit = limit
        # Guards the fields below.
        self._condition = host.condition("active reconciles")
        self._active = 0
        self._is_closed = False

    def wait_for_room(self, stop: Stop) -> bool:
        """Wait until fewer reconciles than the limit are active, and return True; return False once `stop` is set."""
        forget = stop.on_set(self._wake)
        try:
            with self._condition:
                while self._active >= self._limit and not stop.is_set():
                    self._condition.wait_until(None)
        finally:
            forget()
        return not stop.is_set()

    def add(self) -> None:
        """Count a reconcile that is handed to the event loop."""
        with self._condition:
            self._active += 1
            self._condition.notify_all()

    def remove(self) -> None:
        """Count a reconcile that has ended."""
        with self._condition:
            self._active -= 1
            self._condition.notify_all()

    def wait_for_one(self) -> bool:
        """Wait until at least one reconcile is active, and return True; return False once this is closed."""
        with self._condition:
            while self._active == 0 and not self._is_closed:
                self._condition.wait_until(None)
            return not self._is_closed

    def close(self) -> None:
        """End `wait_for_one`, because no further reconcile will begin."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    def _wake(self) -> None:
        with self._condition:
            self._condition.notify_all()
