# SPDX-License-Identifier: Apache-2.0
"""Electors that are wrong on purpose, to see that the simulation sees it."""

from __future__ import annotations

import math

from controller_runtime.api.objects import microtime
from controller_runtime.core.errors import Conflict, LeadershipLost
from controller_runtime.core.stop import Stop
from controller_runtime.election.decision import Held
from controller_runtime.election.elector import LeaderElector
from controller_runtime.election.record import LeaseRecord
from controller_runtime.election.term import Term


class NeverLapses(Term):
    """Leadership as a flag: renewals go on for ever, and only somebody else's name ends it."""

    @property
    def held(self) -> Held:
        return Held(super().held.token, math.inf)

    def is_over(self) -> bool:
        return self._is_over

    def extend(self, until: float) -> bool:
        return True


class ReleasesWithoutLooking(LeaderElector):
    """Gives back what it remembers to hold, whoever holds it by now, and does so on loss too."""

    has_failed = False

    def has_lost(self) -> bool:
        return self.has_failed or super().has_lost()

    def run(self, stop: Stop) -> None:
        try:
            super().run(stop)
        except LeadershipLost:
            self.has_failed, self._term = True, None
            self._release(self._deadline())
            raise

    def _release(self, deadline: float) -> bool:
        record = self.lock.read(deadline)
        stamp = microtime(self._host.now())
        try:
            self._write(self.lock.update, LeaseRecord("", 1, stamp, stamp, record.transitions))
        except Conflict:
            return False
        return True
