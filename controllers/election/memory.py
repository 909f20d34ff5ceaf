# SPDX-License-Identifier: Apache-2.0
"""What the election controller remembers: since when leases are not renewed, and what it has told of them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from controller_runtime.api.objects import Request
from controller_runtime.core.host import Host
from controllers.election.step import Problem


class Memory:
    """What the controller remembers of each lease: when its holder renewed it, and what was told of it.

    It is not needed to go on after a restart: a lease is then watched anew, and told of again.

    Threads: any; each lease by one at a time.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the two below.
        self._lock = host.lock("election memory")
        self._seen: dict[Request, tuple[object, float]] = {}
        self._found: dict[Request, dict[Problem, float]] = {}  # and since when; infinity: told

    def unchanged_for(self, lease: Request, renewal: object) -> float:
        """Seconds for which its last renewal has been this one, as far as we know."""
        now = self._host.monotonic()
        with self._lock:
            before, since = self._seen.get(lease, (None, now))
            if renewal != before:
                since = now
                self._seen[lease] = (renewal, since)
        return now - since

    def news(self, lease: Request, problems: Iterable[Problem]) -> list[Problem]:
        """Those of `problems` that are to be told now: once each, until it is gone and comes again."""
        now = self._host.monotonic()
        with self._lock:
            before = self._found.get(lease, {})
            found = {problem: before.get(problem, now) for problem in problems}
            due = [problem for problem, since in found.items() if now - since >= problem.patience]
            self._found[lease] = {**found, **dict.fromkeys(due, math.inf)}
        return due

    def knows(self, lease: Request) -> bool:
        """Whether it is watched."""
        with self._lock:
            return lease in self._seen

    def forget(self, lease: Request) -> None:
        """It is gone, or no election's."""
        with self._lock:
            self._seen.pop(lease, None)
            self._found.pop(lease, None)
