# SPDX-License-Identifier: Apache-2.0
"""Deletes the lease candidates of components that ended without deleting them.

A candidate that has not been renewed for half an hour takes part in no election, so nothing needs it any more.
"""

from __future__ import annotations

from datetime import datetime

from controller_runtime.api.resources import LEASE_CANDIDATES
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controllers.election.next_action import VALID
from controllers.election.views import CandidateView
from controllers.expiry.collector import ExpiredCollector

NAME = "lease-candidate-gc"


def seconds_left(candidate: CandidateView, now: datetime) -> float:
    """Return the seconds for which the candidate is still valid; negative if it has expired.

    A candidate that was never renewed is valid for half an hour after its creation, since its first renewal may still
    come.
    """
    renewed = candidate.spec.renew_time or candidate.created
    return (VALID - (now - renewed)).total_seconds()


def lease_candidate_gc(manager: Manager, *, workers: int = 1) -> Controller:
    """Return the controller that deletes expired lease candidates, ready to be added to `manager`.

    Args:
        manager: The manager, whose client and caches are used.
        workers: The most candidates that are processed at the same time.
    """
    reconciler = ExpiredCollector(
        manager.host,
        manager.client,
        manager.lister(LEASE_CANDIDATES, CandidateView),
        LEASE_CANDIDATES,
        CandidateView,
        seconds_left,
        longest_look=VALID.total_seconds(),
    )
    return Controller(NAME, reconciler, workers=workers).watch(LEASE_CANDIDATES)
