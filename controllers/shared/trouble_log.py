# SPDX-License-Identifier: Apache-2.0
"""One log for the problems of thousands: a line when the first one begins, and a line when the last one ends."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey

log = get_logger(__name__)


class TroubleLog:
    """Logs one warning when the first of many keys has a problem, and one line when no key has a problem any more.

    Each further problem is logged at debug level.

    Args:
        host: Creates the lock.
        begins: The text of the warning.
        ends: The text of the last line, which also has the greatest number of keys with a problem at one time.

    Threads: any.
    """

    def __init__(self, host: Host, begins: str, ends: str) -> None:
        self._begins = begins
        self._ends = ends
        # Guards the two fields below.
        self._lock = host.lock(begins)
        self._troubled: set[ObjectKey] = set()
        self._most = 0  # the largest size of `_troubled` since it was empty

    def note(self, key: ObjectKey, problem: str) -> None:
        """Record the current problem of `key`; an empty `problem` means that it has none."""
        with self._lock:
            before = len(self._troubled)
            if problem:
                self._troubled.add(key)
            else:
                self._troubled.discard(key)
            now = len(self._troubled)
            most = self._most = max(self._most, now)
            if now == 0:
                self._most = 0
        if problem:
            (log.debug if before else log.warning)(self._begins, first=key, error=problem)
        elif before and not now:
            log.info(self._ends, troubled=most)
