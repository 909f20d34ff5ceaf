# SPDX-License-Identifier: Apache-2.0
"""Parts of a ring with their corrections undone, each with all its belts, which the simulation must find."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.api.resources import LEASES
from controller_runtime.ring import objects
from controller_runtime.ring import ownership as ownerships
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.decision import Sighting
from controller_runtime.ring.member import RingMember
from controller_runtime.ring.objects import LeaseWrite, PublishedRing, RingObjects
from controller_runtime.ring.ownership import Ownership, RingTransport, turn_in_hand
from controller_runtime.ring.records import RING_LABEL, Assignment
from controller_runtime.ring.ring import Ring
from controller_runtime.ring.send_time import SendTime
from controller_runtime.ring.sightings import Sightings
from controller_runtime.ring.token import RingToken, token_of
from controller_runtime.testing.simulation import SimulatedHost


def resume_before_the_claim(patch: pytest.MonkeyPatch) -> None:
    """Own slots that are given back before the claim is stored, and go on with those that a late claim drops."""
    make = RingMember.__init__

    def own(self: Ownership, slots: int, ring: Assignment | None, given: int) -> int:
        with self._lock:
            term, before = self._state
            now = () if ring is None else ((slots & given, ring),)
            self._state, self._by = (term, before | slots), (*now, *self._by)
        return slots & ~before

    def begin(self: RingMember, *args: Any, **options: Any) -> None:
        make(self, *args, **options)
        write = self._objects.write_lease

        def write_lease(attempt: LeaseWrite, deadline: float) -> None:
            kept = self.state.claim.slots & attempt.claim.slots & ~attempt.draining
            given = 0 if attempt.ring is None else attempt.ring.slots_of(self.identity)
            self._on_take(self._ownership.own(kept, attempt.ring, given))
            write(attempt, deadline)

        self._objects.write_lease = write_lease  # type: ignore[method-assign]

    patch.setattr(Ownership, "own", own)
    patch.setattr(RingMember, "__init__", begin)


def forget_a_lease_that_vanished(patch: pytest.MonkeyPatch) -> None:
    """Take the slots of a member at once when its lease is not there."""

    def kept(self: Sightings, name: str, before: Sighting, now: float) -> Sighting | None:
        return None

    patch.setattr(Sightings, "_kept", kept)


def give_a_slots_newest_token(patch: pytest.MonkeyPatch) -> None:
    """Give each reconcile the token of the newest assignment that gives its slot to this replica."""
    read, newest = RingObjects.read_ring, dict[RingObjects, Assignment]()

    def read_ring(self: RingObjects, deadline: float) -> PublishedRing:
        found = read(self, deadline)
        if found.assignment is not None:
            newest[self] = found.assignment
        return found

    def token(self: Ring) -> RingToken:
        turn = turn_in_hand(self.ownership)
        assert turn is not None, "called in a shared reconcile"
        ring = newest[self.member._objects]
        return token_of(ring, turn.slot) if ring.owners[turn.slot] == self.member.identity else turn.token

    patch.setattr(RingObjects, "read_ring", read_ring)
    patch.setattr(Ring, "token", token)


def believe_a_5xx(patch: pytest.MonkeyPatch) -> None:
    """Give a slot back although a write for it was answered by a 5xx, and may land."""
    send = RingTransport.request

    def request(self: RingTransport, request: HTTPRequest, deadline: float) -> HTTPResponse:
        turn = ownerships._turn.get()
        before = turn.unsure_until if turn is not None else 0.0
        response = send(self, request, deadline)
        if turn is not None:
            turn.unsure_until = before
        return response

    patch.setattr(RingTransport, "request", request)


def trust_the_monotonic_clock(patch: pytest.MonkeyPatch) -> None:
    """Let a deadline stand still while the machine is suspended, and pass over a wall clock that ran ahead."""
    patch.setattr(SimulatedHost, "elapsed", SimulatedHost.monotonic)
    patch.setattr(SendTime, "ahead", lambda self, later: 0.0)


def write_objects_of_others(patch: pytest.MonkeyPatch) -> None:
    """Follow and write whatever has a name of the ring."""
    for check in ("check_map", "check_lease"):
        patch.setattr(objects, check, lambda found, ring: None)


def divide_differently_at_once(patch: pytest.MonkeyPatch) -> None:
    """Share slots with members that divide differently."""
    patch.setattr(Ring, "division", lambda self: "")


def keep_identities(patch: pytest.MonkeyPatch) -> None:
    """Take the configured identity as the name of the lease, as for the pods of a StatefulSet."""
    patch.setattr(RingConfig, "named_by", lambda self, host: self)


def look_for_leases_by_label_alone(patch: pytest.MonkeyPatch) -> None:
    """Believe that our lease is not there when it has lost its label."""

    def read_leases(self: RingObjects, deadline: float) -> dict[str, dict[str, Any]]:
        with self._asking(deadline) as client:
            label = f"{RING_LABEL}={self._config.name}"
            leases = client.list(LEASES, self._config.namespace, label_selector=label, view=dict)
            return {lease["metadata"]["name"]: lease for lease in leases}

    patch.setattr(RingObjects, "read_leases", read_leases)


UNDONE = {
    "resumed slots are owned before the claim is stored": resume_before_the_claim,
    "a lease that vanished is forgotten": forget_a_lease_that_vanished,
    "a reconcile gets the newest token of its slot": give_a_slots_newest_token,
    "a 5xx is believed": believe_a_5xx,
    "a deadline stands still while the machine sleeps": trust_the_monotonic_clock,
    "objects of others are written": write_objects_of_others,
    "members that divide differently work at once": divide_differently_at_once,
    "an identity comes back": keep_identities,
    "a lease without its label is not found": look_for_leases_by_label_alone,
}
"""The corrections, by the error that comes back without them."""
