# SPDX-License-Identifier: Apache-2.0
"""Electors with planted errors, which the simulation must find."""

from __future__ import annotations

import math
from collections.abc import Callable

from apimachinery.errors import Conflict, LeadershipLost
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.objects import microtime
from apimachinery.stop import Stop
from controller_runtime.client.deadlines import Limit
from controller_runtime.election.decision import HeldLease
from controller_runtime.election.elector import LeaderElector
from controller_runtime.election.lease_lock import LeaseLock
from controller_runtime.election.record import LeaseRecord
from controller_runtime.election.term import Term, leadership_limit


class NeverLapses(Term):
    """Has no deadline: a leadership ends only when another holder is seen."""

    @property
    def held(self) -> HeldLease:
        return HeldLease(super().held.token, math.inf)

    def is_over(self) -> bool:
        return self._is_over

    def extend(self, until: float) -> bool:
        return True


def release_without_looking(
    lock: LeaseLock, identity: str, host: Host, stop: Stop, deadline: float
) -> LeaseRecord | None:
    """Blank the lease, even if another replica holds it by now."""
    record = lock.read(deadline)
    stamp = microtime(host.now())
    free = LeaseRecord("", 1, stamp, stamp, record.transitions)
    try:
        lock.update(free, deadline)
    except Conflict:
        return None
    return free


class ReleasesWithoutLooking(LeaderElector):
    """Releases the lease without a look at its holder, and does so even after it has lost the leadership."""

    def run(self, stop: Stop) -> None:
        try:
            super().run(stop)
        except LeadershipLost:
            release_without_looking(self.lock, self.identity, self._host, stop, self._host.monotonic() + 5.0)
            raise


def fenced_at_the_beginning(term: Callable[[], Term | None]) -> Limit:
    """Return a limit that checks the leadership when a request begins, but does not bound the request's duration."""
    limit = leadership_limit(term)

    def only_asks(request: HTTPRequest) -> float | None:
        limit(request)
        return None

    return only_asks
