# SPDX-License-Identifier: Apache-2.0
"""Waits until an operator is at rest: no object has changed, and no process of the operator has computed, for a
while.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from apimachinery.host import Host
from controller_runtime.testing.perturbation.others.operator_process import Look
from controller_runtime.testing.perturbation.record import MANAGER, Landed

_LOOK = 0.1
"""Seconds between two checks whether the operator computes; on a busy machine it may compute for long before it
writes.
"""


@attrs.define
class Wait:
    """The changes during one wait for a rest.

    Attributes:
        changes: The number of changes.
        last: The last change; None if there was none.
        at: The time of the last change, or else the beginning of the wait, in monotonic seconds.
    """

    at: float
    changes: int = 0
    last: Landed | None = None

    def why_not(self, patience: float) -> str:
        """Return a sentence about why no rest came within `patience` seconds."""
        what = "its processes compute all the time"
        if self.last is not None:
            by = "the operator" if self.last.writer == MANAGER else "others"
            what = f"{self.changes} changes came, the last one of {self.last.name} by {by}"
        return f"no rest came within {patience:g} s: {what}"


class Quiet:
    """Waits until nothing changes, and measures the operator's pauses before a change.

    Args:
        host: The clock.
        pause: Waits for the given seconds.
        look: Returns the state of the operator's processes.

    Attributes:
        lull: The longest pause in seconds, during a wait, after which the operator made another change.

    Threads: one for `wait_for`; any for `note`.
    """

    def __init__(self, host: Host, pause: Callable[[float], object], look: Callable[[], Look]) -> None:
        self._host, self._pause, self._look = host, pause, look
        # Guards what follows: changes come on threads of the server.
        self._lock = host.lock("quiet of a perturbed run")
        self._active_at = host.monotonic()
        self._wait: Wait | None = None
        self.lull = 0.0

    def note(self, change: Landed) -> None:
        """Count a change of an object: something still happens at this moment."""
        now = self._host.monotonic()
        with self._lock:
            if self._wait is not None:
                if change.writer == MANAGER:
                    self.lull = max(self.lull, now - self._active_at)
                self._wait.changes += 1
                self._wait.last, self._wait.at = change, now
            self._active_at = now

    def wait_for(self, quiet: float, patience: float) -> str:
        """Wait until nothing has happened for `quiet` seconds.

        After `patience + quiet` seconds, an operator that computes all the time counts as at rest if nothing has
        changed for `quiet` and for `patience / 2` seconds.

        Returns:
            An empty text, or the reason why no rest came within `patience + quiet` seconds.
        """
        began = self._host.monotonic()
        with self._lock:
            self._wait = Wait(began)
            self._active_at = began
        try:
            while True:
                why = self._rests(quiet, patience, began)
                if why is not None:
                    return why
        finally:
            with self._lock:
                self._wait = None

    def _rests(self, quiet: float, patience: float, began: float) -> str | None:
        """Look once; return an empty text for a rest, the reason against one, or None to look again after a pause."""
        is_busy = self._look().busy
        now = self._host.monotonic()
        with self._lock:
            wait = self._wait
            assert wait is not None, "only during a wait"
            if is_busy:
                self._active_at = max(now, self._active_at)
            left = self._active_at + quiet - now
            if left <= 0:
                return ""
            if now >= began + patience + quiet:
                return "" if now >= wait.at + max(quiet, patience / 2) else wait.why_not(patience)
        self._pause(min(left, _LOOK))
        return None
