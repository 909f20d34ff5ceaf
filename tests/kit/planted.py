# SPDX-License-Identifier: Apache-2.0
"""Electors that are wrong on purpose, to see that the simulation sees it."""

from __future__ import annotations

import math

from controller_runtime.api.http import HTTPRequest
from controller_runtime.api.objects import microtime
from controller_runtime.core.errors import Conflict, LeadershipLost
from controller_runtime.core.stop import Stop
from controller_runtime.election.decision import Held
from controller_runtime.election.elector import LeaderElector
from controller_runtime.election.record import LeaseRecord
from controller_runtime.election.term import FencedTransport, Term


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

    lost: Term | None = None

    @property
    def term(self) -> Term | None:
        return self.lost or super().term

    def run(self, stop: Stop) -> None:
        try:
            super().run(stop)
        except LeadershipLost:
            self.lost, self._term = self._term, None
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


class FencedAtTheBeginning(FencedTransport):
    """Asks whether we lead as a request begins, and not how long."""

    def _bounded(self, request: HTTPRequest, deadline: float) -> float:
        super()._bounded(request, deadline)
        return deadline
