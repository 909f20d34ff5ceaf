# SPDX-License-Identifier: Apache-2.0
"""Logs late renewals together, because a line for each of thousands of leases would flood the log."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.log import get_logger

log = get_logger(__name__)

LOG_INTERVAL = 60.0
"""Shortest time between two lines in seconds."""


class LateRenewals:
    """Counts late renewals, and logs them together: the first at once, later ones at most once per `LOG_INTERVAL`
    seconds.

    Args:
        host: The source of the time.
        tolerance: Seconds by which a renewal may be late without counting as late.

    Threads: any.
    """

    def __init__(self, host: Host, tolerance: float) -> None:
        self._host = host
        self._tolerance = tolerance
        # Guards the fields below, which count since the last line.
        self._lock = host.lock("late renewals")
        self._logged_at: float | None = None
        self._renewed = 0
        self._late = 0
        self._worst = 0.0

    def note(self, late: float) -> None:
        """Record a renewal that came `late` seconds after it was due, and log the late ones if a line is due."""
        with self._lock:
            now = self._host.monotonic()
            self._renewed += 1
            if late <= self._tolerance:
                return
            self._late += 1
            self._worst = max(self._worst, late)
            if self._logged_at is not None and now - self._logged_at < LOG_INTERVAL:
                return
            renewed, count, worst = self._renewed, self._late, self._worst
            self._logged_at, self._renewed, self._late, self._worst = now, 0, 0, 0.0
        log.warning(
            "renewals fall behind: this machine or the server is too slow for so many nodes",
            late=count,
            renewals=renewed,
            worst=f"{worst:.0f} s late",
        )
