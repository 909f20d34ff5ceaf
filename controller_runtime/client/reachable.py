# SPDX-License-Identifier: Apache-2.0
"""Word that a server answers, for those who wait because it did not."""

from __future__ import annotations

from controller_runtime.core.host import Host
from controller_runtime.core.stop import Stop


class ServerReachable:
    """Whoever is answered tells those who have lost the server: they need not wait to the end of their delay.

    Threads: any, for every method.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the two below.
        self._condition = host.condition("contact")
        self._waiting = 0
        self._answers = 0  # while somebody waited

    def made(self) -> None:
        """The server has answered somebody. Costs nothing while nobody waits."""
        if self._waiting:
            with self._condition:
                self._answers += 1
                self._condition.notify_all()

    def wait(self, stop: Stop, seconds: float) -> bool:
        """Wait for `seconds`, until contact is made, or until `stop` is set; whether it was made."""
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
