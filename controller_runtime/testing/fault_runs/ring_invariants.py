# SPDX-License-Identifier: Apache-2.0
"""The invariants of a ring, judged by the server's disk and by the requests, and not by what a member claims to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import annotations_of
from controller_runtime.election.term import Term
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.records import CLAIM, Claim
from controller_runtime.ring.ring import Ring
from controller_runtime.ring.slots import SLOTS, count, slots_in
from controller_runtime.testing.fault_runs.disk import Write
from controller_runtime.testing.fault_runs.invariants import Violated
from controller_runtime.testing.fault_runs.restorable import RestorableDisk
from controller_runtime.testing.fault_runs.ring_effects import RingEffects, identity_of
from controller_runtime.testing.fault_runs.ring_liveness import Bounds, Liveness
from controller_runtime.testing.fault_runs.ring_program import CONFIG, Caches
from controller_runtime.testing.simulation import SimulatedHost, Simulation

CALL = 8.0
"""Seconds for which a fault of one call has effects at most: a reconcile's timeout, a write of unknown outcome."""

_BY_THE_SERVER = ("as it was last written", "than the one that it follows")
"""The ends of the reasons for which only a restored server or a deletion by hand ends a membership."""


@attrs.frozen
class Standing:
    """A replica at one instant.

    Attributes:
        host: Its host.
        ring: Its ring; None while no program runs.
        caches: Its caches; none while no program runs.
        is_reachable: Whether it runs and can talk to a server that runs.
        identity: The identity of its member.
    """

    host: SimulatedHost
    ring: Ring | None
    caches: Caches
    is_reachable: bool
    identity: str

    @property
    def has_joined(self) -> bool:
        """Whether it has been a member since its program began."""
        return self.ring is not None and self.ring.ownership.term is not None

    @property
    def held(self) -> int:
        """The slots for which it could act: dead and frozen processes cannot."""
        if self.ring is None or self.host.crashed or self.host.paused:
            return 0
        return self.ring.ownership.owned | self.ring.ownership.in_hand


class RingInvariants:
    """Checks a ring at each step of a simulation.

    I1: no slot is held by two replicas. I2: a replica holds slots and sends a reconcile's requests only while its last
    claim, as the server has stored it, has them, and until its deadline by its own clock. I3: what lands names the
    version that it was decided on, so nothing that another owner did is undone; a slot with a request that was not
    answered is given back only after the deadline. Liveness: see `ring_liveness`.

    Args:
        sim: The simulation; `look` is to be called at each step.
        disk: The server's disk.
        by: The property of requests by which the ring divides them.
        divided: Whether the caches have the objects of a replica's slots alone.
        bounds: When slots must be held.

    Attributes:
        standings: All replicas; to be set at each event.
        liveness: Judges the bounds.
        effects: Judges what is done to the objects.
    """

    def __init__(
        self,
        sim: Simulation,
        disk: RestorableDisk,
        by: RingBy,
        *,
        divided: bool,
        bounds: Bounds,
    ) -> None:
        self.liveness = Liveness(bounds)
        self.effects = RingEffects(
            *(sim, disk, by),
            divided=divided,
            interval=lambda identity: self._claims.get(identity, (0, 0.0)),
            known_until=lambda identity: self._known_until.get(identity, 0.0),
        )
        self.standings: list[Standing] = []
        self._sim, self._disk = sim, disk
        self._looked_at = -1.0
        self._checked = 0  # number of the disk's writes that have been checked
        self._sent: dict[tuple[str, str], float] = {}  # when a lease was sent, by identity and stamp
        # For each identity: the slots of the claim that the server has stored last, and when it ends in virtual time.
        self._claims: dict[str, tuple[int, float]] = {}
        self._ready: set[str] = set()
        self._is_ring_lost = False
        self._holds: dict[str, int] = {}  # the slots of each identity at the last look
        # For each identity: its present membership, and from when on that may own slots.
        self._memberships: dict[str, tuple[Term, float]] = {}
        # For each identity: the stamps of its leases, in order, of which it knows that they were stored.
        self._known: dict[str, dict[str, None]] = {}
        self._known_until: dict[str, float] = {}  # when the membership of each identity ends by the last of them
        self._answered_at: dict[str, float] = {}  # when each identity heard of its last lease
        # For each identity whose lease the server has forgotten, since when; until it writes again.
        self._betrayed: dict[str, float] = {}

    def disturbed(self, seconds: float) -> None:
        """Note that something happens that may have effects for `seconds`."""
        self.liveness.disturbed(self._sim.time + seconds)

    def look(self) -> None:
        """Raise `Violated` if an invariant does not hold.

        The first step of each instant looks at what the last instant left behind: an overlap that lasts is seen, and
        most steps cost nothing.
        """
        if self.effects.violated is not None:
            raise self.effects.violated
        if self._looked_at != self._sim.time:
            self.look_again()

    def look_again(self) -> None:
        """Look, although this instant was looked at before; see `look`."""
        self._looked_at = self._sim.time
        while self._checked < len(self._disk.writes):
            self._check_write(self._disk.writes[self._checked])
            self._checked += 1
        taken = 0
        for standing in self.standings:
            held = standing.held
            if both := taken & held:
                names = " and ".join(each.host.name for each in self.standings if each.held & both)
                raise Violated("one owner at most", f"{names} own the slots {[*slots_in(both)][:8]}")
            taken |= held
            self._check_held(standing, held)
            if held & ~self._holds.get(standing.identity, 0):
                self.effects.takes(standing.host, standing.caches, held)
            self._holds[standing.identity] = held
        up = frozenset([each.identity for each in self.standings if each.is_reachable and each.has_joined])
        self.liveness.look(self._sim.time, up, self._ready, taken)

    def _check_held(self, standing: Standing, held: int) -> None:
        slots, until = self._claims.get(standing.identity, (0, 0.0))
        if held and (held & ~slots or self._sim.time > until):
            what = f"{standing.host.name} holds {count(held)} slots, {count(slots)} of them claimed until {until:.2f} s"
            raise Violated("no slot outside the interval", what)
        term = standing.ring.ownership.term if standing.ring is not None else None
        if term is not None and self._sim.time < self._owns_from(standing, term) and held:
            raise Violated("a new member owns nothing for a lease", f"{standing.host.name} holds {count(held)} slots")
        if term is not None and term.why_over.endswith(_BY_THE_SERVER) and not (self._disk.lost or self._is_ring_lost):
            raise Violated("a membership does not end without need", f"{standing.host.name}: {term.why_over}")

    def _owns_from(self, standing: Standing, term: Term) -> float:
        """Return the virtual seconds from which a membership may own slots, which is a lease after its begin."""
        known, since = self._memberships.get(standing.identity, (None, 0.0))
        if known is not term:
            begun = self._answered_at.get(standing.identity, self._sim.time)
            since = begun + CONFIG.lease_duration / (1 + standing.host.drift / 1e6) - 0.001
            self._memberships[standing.identity] = term, since
        return since

    def restored(self) -> None:
        """Note that the server's disk shows an older state: members that it contradicts must begin anew."""
        shown = {}
        for collection, stored in self._disk.load()[1]:
            if collection.startswith("leases"):
                shown[stored.key.rpartition("/")[2]] = json.loads(stored.raw)["spec"]["renewTime"]
        for identity, (*before, last) in ((name, [*stamps]) for name, stamps in self._known.items() if stamps):
            if shown.get(identity, "") in ("", *before) and shown.get(identity) != last:
                self._betrayed[identity] = self._sim.time

    def unsettled(self) -> Violated | None:
        """Return what is not done yet; None if all is done, and all slots are held in fair shares."""
        loads = [count(standing.held) for standing in self.standings]
        if max(loads) - min(loads) > 1:
            return Violated("equal loads", f"the members own {loads} slots")
        if sum(loads) < SLOTS:
            return Violated("each slot has an owner in time", f"the members own {loads} slots")
        return self.effects.unsettled()

    def begins(self, host: SimulatedHost, request: HTTPRequest) -> None:
        """Check a request that begins, and note when a lease is written."""
        if request.method in ("POST", "PUT") and "/leases" in request.path:
            lease = json.loads(request.body)
            self._sent.setdefault((lease["metadata"]["name"], lease["spec"]["renewTime"]), self._sim.time)
        elif host.name.startswith("r"):
            self.effects.begins(host, request)

    def answered(self, host: SimulatedHost, request: HTTPRequest, response: HTTPResponse) -> None:
        """Note that the outcome of a request is known."""
        if not host.name.startswith("r"):
            return
        self.effects.answered(host, request, response)
        if request.method in ("POST", "PUT") and "/leases" in request.path and response.status in (200, 201):
            stamp = json.loads(request.body)["spec"]["renewTime"]
            self._known.setdefault(identity_of(host), {})[stamp] = None
            sent_at = self._sent.get((identity_of(host), stamp), self._sim.time)
            self._known_until[identity_of(host)] = _ends_at(sent_at, host)
            self._answered_at[identity_of(host)] = self._sim.time

    def _check_write(self, write: Write) -> None:
        self.effects.stored(write)
        is_ring = (write.collection, write.key) == ("configmaps", f"{CONFIG.namespace}/{CONFIG.name}")
        if is_ring and write.raw is None:
            self._is_ring_lost = True
            self.disturbed(CONFIG.retry_period)
        if write.collection.startswith("leases") and write.raw is not None:
            found = json.loads(write.raw)
            if CLAIM in annotations_of(found):
                self._note_claim(found)

    def _note_claim(self, lease: Mapping[str, Any]) -> None:
        name, stamp = lease["metadata"]["name"], lease["spec"]["renewTime"]
        sent_at = self._sent.get((name, stamp), self._sim.time)
        claim = Claim.from_text(annotations_of(lease)[CLAIM])
        host = next(each.host for each in self.standings if each.host.name[:2] == name[:2])  # or its successor
        if sent_at <= self._betrayed.get(name, 0.0):
            return  # it was under way when the server was restored, and its member knows nothing of it
        # A new membership gives all up; that of a member which leaves is told by the restored backup that it follows.
        if claim.slots or (claim.is_leaving and name not in self._betrayed):
            self.effects.gives_back(name, self._claims.get(name, (0, 0.0))[0] & ~claim.slots)
        if claim.is_ready != (name in self._ready):
            self._ready ^= {name}
            self.liveness.ready_changed(self._sim.time)
        if name in self._betrayed:
            del self._betrayed[name]
            if claim.slots or claim.is_ready:
                raise Violated("a restored backup ends memberships", f"{name} goes on with {count(claim.slots)} slots")
        self._claims[name] = claim.slots, _ends_at(sent_at, host)


def _ends_at(sent_at: float, host: SimulatedHost) -> float:
    """Return when a membership ends, in virtual seconds, that was renewed by a request of a time."""
    return sent_at + CONFIG.renew_deadline / (1 + host.drift / 1e6) + 0.001
