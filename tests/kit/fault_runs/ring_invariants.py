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
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from kit.fault_runs.disk import Write
from kit.fault_runs.invariants import Violated
from kit.fault_runs.restorable import RestorableDisk
from kit.fault_runs.ring_effects import RingEffects
from kit.fault_runs.ring_foreign import FOREIGN, ForeignObjects
from kit.fault_runs.ring_liveness import Bounds, Liveness
from kit.fault_runs.ring_program import CONFIG, Caches

CALL = 8.0
"""Seconds for which a fault of one call has effects at most: a reconcile's timeout, a write of unknown outcome."""

_MEMBERS_THREAD = f"/ring/{CONFIG.name}"
"""The end of the name of the thread on which a member takes part."""
_BY_THE_SERVER = ("as it was last written", "than the one that it follows")
"""The ends of the reasons for which only a restored server or a deletion by hand ends a membership."""


@attrs.frozen
class Standing:
    """A replica at one instant.

    Attributes:
        host: Its host.
        ring: Its ring; None while no program runs.
        caches: Its caches; none while no program runs.
        version: The version of its program, the first one being 0: others divide otherwise.
        by: The property by which its ring divides requests.
        is_reachable: Whether it runs and can talk to a server that runs.
    """

    host: SimulatedHost
    ring: Ring | None
    caches: Caches
    version: int
    by: RingBy
    is_reachable: bool

    @property
    def identity(self) -> str:
        """The identity of its member; empty while no program runs."""
        return "" if self.ring is None else self.ring.member.identity

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
    answered is given back only after the deadline. I4: a reconcile has one fencing token, and that of a later owner is
    greater. I5: members of one division hold slots at a time. I6: see `ring_foreign`.

    Liveness: see `ring_liveness`; in the end the last change of each object was reconciled by an owner.

    A lease is that of the replica that sent it, whatever its name says.

    Args:
        sim: The simulation; `look` is to be called at each step.
        disk: The server's disk.
        by: The property of requests by which the ring divides them.
        divided: Whether the caches have the objects of a replica's slots only.
        bounds: When slots must be held.

    Attributes:
        standings: All replicas; to be set at each event.
        liveness: Judges the bounds.
        effects: Judges what is done to the objects.
        foreign: Judges what is done to objects of other programs.
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
            by_of=self._by_of,
            divided=divided,
            interval=lambda replica: self._claims.get(replica, (0, 0.0)),
            known_until=lambda replica: self._known_until.get(replica, 0.0),
        )
        self.foreign = ForeignObjects()
        self.standings: list[Standing] = []
        self._sim, self._disk = sim, disk
        self._looked_at = -1.0
        self._checked = 0  # number of the disk's writes that have been checked
        # When a lease was sent and by which replica, by its name and stamp.
        self._sent: dict[tuple[str, str], tuple[float, SimulatedHost]] = {}
        self._noted: set[tuple[str, str]] = set()  # those of them that were stored
        self._ready: set[str] = set()  # the identities of members that may own slots
        self._is_ring_lost = False
        # The fields below are by replica, the name of its host with its restarts counted.
        self._claims: dict[str, tuple[int, float]] = {}  # the slots that it claims, as stored, and until when
        self._leases: dict[str, str] = {}  # the name of its lease
        self._touched: set[str] = set()  # its lease was changed by hand
        self._holds: dict[str, int] = {}  # its slots at the last look
        self._memberships: dict[str, tuple[Term, float]] = {}  # the present one, and from when on it may own slots
        self._known: dict[str, dict[str, None]] = {}  # the stamps of its leases that it knows to be stored, in order
        self._known_until: dict[str, float] = {}  # when its membership ends by the last of them
        self._answered_at: dict[str, float] = {}  # when it heard of its last lease
        self._betrayed: dict[str, float] = {}  # since when the server has forgotten its lease; until it writes again

    def disturbed(self, seconds: float) -> None:
        """Note that something happens that may have effects for `seconds`."""
        self.liveness.disturbed(self._sim.time + seconds)

    def touched(self, replica: str) -> None:
        """Note that a person changes the lease of a replica."""
        self._touched.add(replica)
        self.disturbed(CALL)

    def look(self) -> None:
        """Raise `Violated` if an invariant does not hold.

        A step is passed over if nothing can have changed by it. Only time, the server, and the threads of members
        change owners and claims; other threads begin work for slots that are owned, and end it.
        """
        if self.effects.violated is not None:
            raise self.effects.violated
        is_members = self._sim.scheduler.current.name.endswith(_MEMBERS_THREAD)
        if is_members or self._looked_at != self._sim.time or self._checked < len(self._disk.writes):
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
            if held & ~self._holds.get(standing.host.name, 0):
                self.effects.takes(standing.host, standing.caches, held)
            self._holds[standing.host.name] = held
        working = {standing.version: standing.host.name for standing in self.standings if standing.held}
        if len(working) > 1:
            raise Violated("one division at a time", f"{' and '.join(working.values())} divide differently")
        if self.foreign.is_any:
            self.disturbed(CALL)
        up = frozenset([each.identity for each in self.standings if each.is_reachable and each.has_joined])
        self.liveness.look(self._sim.time, up, self._ready, taken)

    def _by_of(self, host: SimulatedHost) -> RingBy:
        return next(standing.by for standing in self.standings if standing.host is host)

    def _check_held(self, standing: Standing, held: int) -> None:
        slots, until = self._claims.get(standing.host.name, (0, 0.0))
        if held and (held & ~slots or self._sim.time > until):
            what = f"{standing.host.name} holds {count(held)} slots, {count(slots)} of them claimed until {until:.2f} s"
            raise Violated("no slot outside the interval", what)
        term = standing.ring.ownership.term if standing.ring is not None else None
        if term is not None and self._sim.time < self._owns_from(standing, term) and held:
            raise Violated("a new member owns nothing for a lease", f"{standing.host.name} holds {count(held)} slots")
        is_needed = self._disk.lost or self._is_ring_lost or standing.host.name in self._touched
        if term is not None and term.why_over.endswith(_BY_THE_SERVER) and not is_needed:
            raise Violated("a membership does not end without need", f"{standing.host.name}: {term.why_over}")

    def _owns_from(self, standing: Standing, term: Term) -> float:
        """Return the virtual seconds from which a membership may own slots, which is a lease after its begin."""
        known, since = self._memberships.get(standing.host.name, (None, 0.0))
        if known is not term:
            begun = self._answered_at.get(standing.host.name, self._sim.time)
            since = begun + CONFIG.lease_duration / (1 + standing.host.clocks.drift / 1e6) - 0.001
            self._memberships[standing.host.name] = term, since
        return since

    def restored(self) -> None:
        """Note that the server's disk shows an older state: members that it contradicts must begin anew."""
        shown = {}
        for collection, stored in self._disk.load()[1]:
            if collection.startswith("leases"):
                shown[stored.key.rpartition("/")[2]] = json.loads(stored.raw)["spec"].get("renewTime", "")
        for replica, (*before, last) in ((name, [*stamps]) for name, stamps in self._known.items() if stamps):
            stamp = shown.get(self._leases[replica], "")
            if stamp in ("", *before) and stamp != last:
                self._betrayed[replica] = self._sim.time
        self.effects.restored()
        self.foreign.restored(self._disk.load()[1])

    def unsettled(self) -> Violated | None:
        """Return what is not done yet; None if all is done, and all slots are held in fair shares by one division."""
        working = {standing.version for standing in self.standings if standing.held}
        loads = [count(standing.held) for standing in self.standings if not working or standing.version in working]
        if max(loads) - min(loads) > 1:
            return Violated("equal loads", f"the members own {loads} slots")
        if sum(loads) < SLOTS:
            return Violated("each slot has an owner in time", f"the members own {loads} slots")
        return self.effects.unsettled()

    def begins(self, host: SimulatedHost, request: HTTPRequest) -> None:
        """Check a request that begins, and note when a lease is written."""
        self.foreign.begins(host, request)
        if not host.name.startswith("r"):
            return
        if request.method in ("POST", "PUT") and "/leases" in request.path:
            lease = json.loads(request.body)
            name = self._leases[host.name] = lease["metadata"]["name"]
            self._sent.setdefault((name, lease["spec"]["renewTime"]), (self._sim.time, host))
        else:
            self.effects.begins(host, request)

    def answered(self, host: SimulatedHost, request: HTTPRequest, response: HTTPResponse) -> None:
        """Note that the outcome of a request is known."""
        if not host.name.startswith("r"):
            return
        self.effects.answered(host, request, response)
        if request.method in ("POST", "PUT") and "/leases" in request.path and response.status in (200, 201):
            stamp = json.loads(request.body)["spec"]["renewTime"]
            self._known.setdefault(host.name, {})[stamp] = None
            self._known_until[host.name] = _ends_at(self._sent[self._leases[host.name], stamp][0], host)
            self._answered_at[host.name] = self._sim.time

    def _check_write(self, write: Write) -> None:
        self.effects.stored(write)
        self.foreign.stored(write)
        is_ring = (write.collection, write.key) == ("configmaps", f"{CONFIG.map_key.namespace}/{CONFIG.map_key.name}")
        if is_ring and write.raw is None:
            self._is_ring_lost = self.effects.are_tokens_lost = True
            self.disturbed(CONFIG.retry_period)
        if write.collection.startswith("leases") and write.raw is not None:
            found = json.loads(write.raw)
            if CLAIM in (annotations := annotations_of(found)) and FOREIGN not in annotations:
                self._note_claim(found)

    def _note_claim(self, lease: Mapping[str, Any]) -> None:
        name, stamp = lease["metadata"]["name"], lease["spec"]["renewTime"]
        if (name, stamp) in self._noted:  # written by a person, as the member has written it before
            self.disturbed(CALL)
            return
        self._noted.add((name, stamp))
        sent_at, host = self._sent[name, stamp]
        replica, claim = host.name, Claim.from_text(annotations_of(lease)[CLAIM])
        if sent_at <= self._betrayed.get(replica, 0.0):
            return  # it was under way when the server was restored, and its member knows nothing of it
        before, _ = self._claims.get(replica, (0, 0.0))
        self.effects.gives_back(replica, before & ~claim.slots)
        if claim.is_ready != (name in self._ready):
            self._ready ^= {name}
            self.liveness.ready_changed(self._sim.time)
        if replica in self._betrayed:
            del self._betrayed[replica]
            if claim.slots & ~before or claim.is_ready:
                what = f"{replica} goes on with {count(claim.slots & ~before)} slots more"
                raise Violated("a restored backup ends memberships", what)
        self._claims[replica] = claim.slots, _ends_at(sent_at, host)


def _ends_at(sent_at: float, host: SimulatedHost) -> float:
    """Return when a membership ends, in virtual seconds, that was renewed by a request of a time."""
    return sent_at + CONFIG.renew_deadline / (1 + host.clocks.drift / 1e6) + 0.001
