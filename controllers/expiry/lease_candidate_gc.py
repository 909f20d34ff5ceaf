# SPDX-License-Identifier: Apache-2.0
"""Deletes the candidates of components that ended without a word.

A candidate that has not renewed itself for half an hour takes part in no election any more.
"""

from __future__ import annotations

from datetime import datetime

from controller_runtime.api.resources import LEASE_CANDIDATES
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controllers.election.lease_candidate_election import CandidateView
from controllers.election.step import VALID
from controllers.expiry.expiry import Expiry

NAME = "lease-candidate-gc"


def seconds_left(candidate: CandidateView, now: datetime) -> float:
    """For how long it counts: negative if it has expired. One that never renewed itself counts from its creation."""
    renewed = candidate.spec.renew_time or candidate.metadata.creation_timestamp
    return (VALID - (now - renewed)).total_seconds()


def lease_candidate_gc(manager: Manager, *, workers: int = 1) -> Controller:
    """The controller, ready to add to `manager`.

    Args:
        manager: Whose candidates to look after.
        workers: Candidates looked at at the same time.
    """
    reconciler = Expiry(
        manager.host,
        manager.client,
        manager.lister(LEASE_CANDIDATES, CandidateView),
        LEASE_CANDIDATES,
        CandidateView,
        seconds_left,
        longest_look=VALID.total_seconds(),
    )
    return Controller(NAME, reconciler, workers=workers).watch(LEASE_CANDIDATES)
