# SPDX-License-Identifier: Apache-2.0
"""Publishes the assignment that follows from the members, when that is one member's turn; and clears away leases."""

from __future__ import annotations

import math
from collections.abc import Sequence

from apimachinery.errors import AlreadyExists, APIError, Conflict, ConnectionLost, NotFound
from apimachinery.log import get_logger
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.decision import Sighting, long_dead, next_assignment, publishes
from controller_runtime.ring.objects import PublishedRing, RingObjects
from controller_runtime.ring.records import Assignment

log = get_logger(__name__)


RESTS = 10
"""The number of lease durations for which a member that could not publish leaves publishing to others."""


class Publisher:
    """Publishes assignments for one member, and deletes leases of members that are gone.

    If a member cannot publish for one lease duration, because a webhook or a quota refuses only its requests, another
    one must publish: for `RESTS` lease durations it then reports that it is not ready, so that the next member by name
    publishes.

    Args:
        objects: Writes the assignment, and deletes leases.
        config: The configuration of the ring, with the member's identity.

    Threads: the member's.
    """

    def __init__(self, objects: RingObjects, config: RingConfig) -> None:
        self._objects, self._config = objects, config
        self._failing_since = math.inf  # monotonic seconds; infinite while it does not fail
        self._rests_until = -math.inf

    def rests(self, now: float) -> bool:
        """Return whether this member currently leaves publishing to others, because it could not publish before."""
        return now < self._rests_until

    def act(
        self, ring: PublishedRing, own: Sighting, others: Sequence[Sighting], patient_until: float, deadline: float
    ) -> bool:
        """If this member is the one that publishes, publish a new assignment or delete a useless lease, if needed.

        Args:
            ring: The assignment, as it was read.
            own: The sighting of this member's own lease, read now.
            others: The sightings of the other members.
            patient_until: The end of the wait for joining members, in monotonic seconds.
            deadline: The end of requests, in monotonic seconds.

        Returns:
            True if there is a new assignment, which should be read at once.

        Raises:
            APIError: The assignment, or the deletion of a lease, was refused.
            ConnectionLost: No answer came.
        """
        try:
            has_published = self._act(ring, own, others, patient_until, deadline)
        except (APIError, ConnectionLost):
            self._failing_since = min(self._failing_since, own.seen_at)
            if own.seen_at - self._failing_since >= self._config.lease_duration:
                self._failing_since = math.inf
                self._rests_until = own.seen_at + RESTS * self._config.lease_duration
                log.warning("leaves publishing to others: it cannot", ring=self._config.name, member=own.member)
            raise
        self._failing_since = math.inf
        return has_published

    def _act(
        self, ring: PublishedRing, own: Sighting, others: Sequence[Sighting], patient_until: float, deadline: float
    ) -> bool:
        now, members, division = own.seen_at, [own, *others], own.claim.division
        if not publishes(own, ring.assignment, others, now):
            return False
        found = next_assignment(ring.assignment, members, now, patient_until, division)
        following = self._following(ring, found, division)
        if following is None:
            if (dead := long_dead(ring.assignment, others, now)) is not None:
                log.info("deletes the lease of a member that is gone", ring=self._config.name, member=dead.member)
                self._objects.delete_dead(dead, deadline)
            return False
        try:
            self._objects.publish(ring, following, deadline)
        except (Conflict, AlreadyExists, NotFound):  # another member has published: the next turn reads it
            return True
        log.info("published an assignment", ring=self._config.name, epoch=following.epoch, members=len(members))
        return True

    def _following(self, ring: PublishedRing, found: Assignment | None, division: str) -> Assignment | None:
        """Return the assignment to publish: the same one of our division, too, if it needs another incarnation."""
        is_ours = ring.assignment is not None and ring.assignment.division == division
        if found is None and is_ours and ring.assignment is not None and self._objects.has_gone_back:
            return ring.assignment.followed_by(ring.assignment.owners)
        return found
