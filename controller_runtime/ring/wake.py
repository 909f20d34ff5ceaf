# SPDX-License-Identifier: Apache-2.0
"""The pause of a member between two turns, which other threads can end."""

from __future__ import annotations

from apimachinery.host import Host


class Wake:
    """Lets one thread wait until a time, or until another thread calls `set`. A `set` before the wait ends it at once.

    Args:
        host: The source of the time and the lock's condition.
        label: The name of the condition.

    Threads: `wait` on one, `set` from any.
    """

    def __init__(self, host: Host, label: str) -> None:
        self._host = host
        # Guards the field below.
        self._condition = host.condition(label)
        self._is_set = False

    def set(self) -> None:
        """End the current wait, or else the next one."""
        with self._condition:
            self._is_set = True
            self._condition.notify_all()

    def wait(self, until: float) -> None:
        """Wait until the time `until` (monotonic seconds), or until `set`."""
        with self._condition:
            while not self._is_set and self._host.monotonic() < until:
                self._condition.wait_until(until)
            self._is_set = False
