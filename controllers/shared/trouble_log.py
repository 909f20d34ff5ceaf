# SPDX-License-Identifier: Apache-2.0
"""The troubles of thousands in two lines of log: when the first of them is in trouble, and when nobody is any more."""

from __future__ import annotations

from controller_runtime.api.objects import ObjectKey
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

log = get_logger(__name__)


class TroubleLog:
    """Who is in trouble now.

    Args:
        host: What this runs on.
        begins: What the log says when the first of them is in trouble.
        ends: What it says when nobody is any more.

    Threads: any.
    """

    def __init__(self, host: Host, begins: str, ends: str) -> None:
        self._begins = begins
        self._ends = ends
        # Guards those in trouble, and the most at a time since nobody was.
        self._lock = host.lock(begins)
        self._concerned: set[ObjectKey] = set()
        self._most = 0

    def note(self, key: ObjectKey, why: str) -> None:
        """What troubles one of them at present; empty is nothing."""
        with self._lock:
            before = len(self._concerned)
            if why:
                self._concerned.add(key)
            else:
                self._concerned.discard(key)
            now = len(self._concerned)
            most = self._most = max(self._most, now)
            if now == 0:
                self._most = 0
        if why:
            (log.debug if before else log.warning)(self._begins, first=key, error=why)
        elif before and not now:
            log.info(self._ends, troubled=most)
