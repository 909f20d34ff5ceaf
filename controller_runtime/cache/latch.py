# SPDX-License-Identifier: Apache-2.0
"""Something that happens once and can be waited for."""

from __future__ import annotations

from controller_runtime.core.host import Host
from controller_runtime.core.stop import Stop


class Latch:
    """Open until it is set, then set for ever; or given up, if it never will be. Threads: any, for every method."""

    def __init__(self, host: Host, label: str) -> None:
        self._host = host
        # Guards the flags.
        self._condition = host.condition(label)
        self._set = False
        self._given_up = False

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._set

    def set(self) -> None:
        """It has happened. Idempotent."""
        with self._condition:
            self._set = True
            self._condition.notify_all()

    def give_up(self) -> None:
        """It will not happen any more, so that nobody need wait. Idempotent; nothing if it has happened."""
        with self._condition:
            self._given_up = True
            self._condition.notify_all()

    def wait(self, stop: Stop, deadline: float | None) -> bool:
        """Wait until it has happened or will not, `deadline` (absolute monotonic seconds) or `stop`; whether it has."""
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
