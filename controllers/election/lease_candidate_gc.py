# SPDX-License-Identifier: Apache-2.0
"""Deletes the candidates of components that ended without a word.

A candidate that has not renewed itself for half an hour takes part in no election any
more. It is deleted when the cache says so, and the server says so too.
"""

from __future__ import annotations

from datetime import datetime

import attrs

from controller_runtime.api.objects import Request
from controller_runtime.api.resources import LEASE_CANDIDATES
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Result
from controller_runtime.core.errors import Conflict, NotFound
from controller_runtime.core.host import Clock
from controller_runtime.core.log import get_logger
from controller_runtime.manager.manager import Manager
from controllers.election.lease_candidate_election import CandidateView
from controllers.election.step import VALID

log = get_logger(__name__)

NAME = "lease-candidate-gc"


def seconds_left(candidate: CandidateView, now: datetime) -> float:
    """For how long it counts: negative if it has expired. One that never renewed itself counts from its creation."""
    renewed = candidate.spec.renew_time or candidate.metadata.creation_timestamp
    return (VALID - (now - renewed)).total_seconds()


@attrs.frozen
class LeaseCandidateGC(Reconciler):
    """Deletes a candidate that has expired; else looks again when it would have."""

    clock: Clock
    candidates: Lister[CandidateView]
    client: Client

    def reconcile(self, request: Request) -> Result:
        """Look at one candidate."""
        cached = self.candidates.get(request)
        if cached is None:
            return Result()
        left = seconds_left(cached, self.clock.now())
        if left < 0:
            try:
                live = self.client.get(LEASE_CANDIDATES, request, CandidateView)
                left = seconds_left(live, self.clock.now())
                if left < 0:
                    self._delete(request, live)
                    return Result()
            except (NotFound, Conflict):  # deleted or renewed meanwhile, of which the cache will tell
                return Result()
        # Expired is what lies behind its time, so the instant itself is too early.
        return Result(requeue_after=min(left + 0.001, VALID.total_seconds()))

    def _delete(self, request: Request, candidate: CandidateView) -> None:
        metadata = candidate.metadata
        self.client.delete(LEASE_CANDIDATES, request, uid=metadata.uid, resource_version=metadata.resource_version)
        log.info("candidate that is gone deleted", candidate=request, lease=candidate.lease)


def lease_candidate_gc(manager: Manager, *, workers: int = 1) -> Controller:
    """The controller, ready to add to `manager`.

    Args:
        manager: Whose candidates to look after.
        workers: Candidates looked at at the same time.
    """
    candidates = manager.lister(LEASE_CANDIDATES, CandidateView)
    reconciler = LeaseCandidateGC(manager.host, candidates, manager.client)
    return Controller(NAME, reconciler, workers=workers).watch(LEASE_CANDIDATES)
