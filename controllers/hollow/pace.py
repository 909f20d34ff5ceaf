# SPDX-License-Identifier: Apache-2.0
"""Tells when renewals fall behind, without a line for each of thousands of leases."""

from __future__ import annotations

from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

TELL_EVERY = 60.0
"""Seconds that pass at least between two lines."""


class Pace:
    """Counts the renewals that came too late, and logs them together: at once, and then once a minute at most.

    Args:
        host: What this runs on.
        tolerance: Seconds by which a renewal may be late without being counted.

    Threads: any.
    """

    def __init__(self, host: Host, tolerance: float) -> None:
        self._host = host
        self._tolerance = tolerance
        # Guards the fields below, which begin again with each line.
        self._lock = host.lock("late renewals")
        self._told_at: float | None = None
        self._renewed = 0
        self._late = 0
        self._worst = 0.0

    def note(self, late: float) -> None:
        """A lease was renewed, so many seconds later than it should have been."""
        with self._lock:
            now = self._host.monotonic()
            self._renewed += 1
            if late <= self._tolerance:
                return
            self._late += 1
            self._worst = max(self._worst, late)
            if self._told_at is not None and now - self._told_at < TELL_EVERY:
                return
            renewed, count, worst = self._renewed, self._late, self._worst
            self._told_at, self._renewed, self._late, self._worst = now, 0, 0, 0.0
        log.warning(
            "renewals fall behind: this machine or the server is too slow for so many nodes",
            late=count,
            renewals=renewed,
            worst=f"{worst:.0f} s late",
        )
