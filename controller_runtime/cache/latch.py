# SPDX-License-Identifier: Apache-2.0
"""An event that happens once and can be waited for."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.stop import Stop


class Latch:
    """A flag that is set once and stays set. It can be given up, if it will never be set.

    Args:
        host: The source of the time and the lock.
        label: The name of the lock.

    Threads: any, for every method.
    """

    def __init__(self, host: Host, label: str) -> None:
        self._host = host
        # Guards the flags.
        self._condition = host.condition(label)
        self._set = False
        self._given_up = False

    def is_set(self) -> bool:
        """Return whether the latch is set."""
        return self._set  # without the lock: it is set once and never cleared

    def set(self) -> None:
        """Set the latch and wake all waiting threads. Idempotent."""
        with self._condition:
            self._set = True
            self._condition.notify_all()

    def give_up(self) -> None:
        """End all current and future waits, because the latch will not be set.

        Idempotent; no effect if the latch is set.
        """
        with self._condition:
            self._given_up = True
            self._condition.notify_all()

    def wait(self, stop: Stop, deadline: float | None) -> bool:
        """Wait until the latch is set or given up, or for `stop` or `deadline` (monotonic seconds); return `is_set`."""
        forget = stop.on_set(self._wake)
        try:
            with self._condition:
                while not (self._set or self._given_up or stop.is_set() or self._past(deadline)):
                    self._condition.wait_until(deadline)
                return self._set
        finally:
            forget()

    def _past(self, deadline: float | None) -> bool:
        return deadline is not None and self._host.monotonic() >= deadline

    def _wake(self) -> None:
        with self._condition:
            self._condition.notify_all()
