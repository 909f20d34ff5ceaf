# SPDX-License-Identifier: Apache-2.0
"""One member of a ring: it renews its lease with its claim, hands slots over, takes others, and may publish.

A turn reads the assignment, then all members' leases, decides by the pure functions of `decision`, and writes. The
slots that a member owns are in `ownership.Ownership`, with a deadline that passes by itself if the turns stop or fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs

from apimachinery.errors import APIError, ConnectionLost, DecodeError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.stop import Stop
from apimachinery.texts import kept_text
from controller_runtime.client.client import Client
from controller_runtime.election.term import Term
from controller_runtime.ring.belonging import ForeignObject
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.decision import Membership, Sighting, is_older, next_step
from controller_runtime.ring.hand_over import HandOver
from controller_runtime.ring.objects import LeaseWrite, PublishedRing, RingObjects
from controller_runtime.ring.ownership import Ownership
from controller_runtime.ring.publisher import Publisher
from controller_runtime.ring.records import Claim
from controller_runtime.ring.send_time import SendTime
from controller_runtime.ring.sightings import Sightings
from controller_runtime.ring.slots import count
from controller_runtime.ring.state import TRANSITIONS, Joined, Leaving, Left, Member, New, State
from controller_runtime.ring.status import RingStatus
from controller_runtime.ring.wake import Wake

log = get_logger(__name__)

SOON = 0.1
"""Seconds between two updates of the ring while running work keeps slots that another member waits for."""

OnSlots = Callable[[int], None]
"""Called with a set of slots, on the member's thread, with no lock held; it must not wait."""


def _ignore(slots: int) -> None:
    """Do nothing: the default of a callback."""


def _all_prepared(slots: int) -> int:
    return slots


def _empty() -> str:
    return ""


class RingMember:
    """Makes this replica a member of a ring while `run` runs, and gives its slots back at the end.

    If the lease was not renewed in time, or is not as the member last wrote it, the member owns nothing from that
    moment. It then becomes a new member, which may own slots after one lease duration.

    Args:
        host: The source of time, threads and randomness.
        client: Sends the requests; it must not be limited by `ownership`.
        config: The configuration of the ring.
        ownership: The slots that the member owns, for the code that does the work.
        on_take: Called with slots that the member newly owns, all of whose objects must be reconciled.
        prepare: Called with the slots that the member has or will have; returns those whose objects are in its caches.
            A slot is owned only after that.
        ready: Called with the slots that the member could take now; returns those that it takes. It may take as long as
            a request.
        problem: Returns in one line why this replica cannot work; empty if it can. While it cannot, other members get
            its slots.
        division: Returns the hash of the division when the member starts; see `Claim.division`.

    Attributes:
        name: The member's name among the members of a manager.
        identity: The identity of the member, which is the name of its lease.
        last_error: Why the last update of the ring failed; empty if it succeeded.
        epoch: The epoch of the assignment that it follows.
        state: The current state; see `state.py`.
        status: Observations and counts, for metrics.
        hand_over: Waits, when the program stops, until other members own the slots.

    Threads: `run` on one, which also calls the callbacks; `wake` and the attributes from any.
    """

    def __init__(
        self,
        host: Host,
        client: Client,
        config: RingConfig,
        ownership: Ownership,
        *,
        on_take: OnSlots = _ignore,
        prepare: Callable[[int], int] = _all_prepared,
        problem: Callable[[], str] = _empty,
        ready: Callable[[int], int] = _all_prepared,
        division: Callable[[], str] = _empty,
    ) -> None:
        config = config.named_by(host)
        self.name = f"ring/{config.name}"
        self.identity = config.identity or ""
        self.last_error = ""
        self._host, self._config, self._ownership = host, config, ownership
        self._objects = RingObjects(host, client, config)
        self._publisher, self._others = Publisher(self._objects, config), Sightings()
        self._on_take, self._prepare, self._problem, self._division = on_take, prepare, problem, division
        self._ready = ready
        # Of the thread of `run` alone: whether slots wait for `ready`, and since when no other division is in the way.
        self._is_behind, self._free_at = False, -math.inf
        self.status = RingStatus(host, self.identity, config.renew_deadline, lambda: self.state.claimed)
        # Replaced as a whole by the thread of `run`; other threads only read it.
        self.state: State = New(Claim(weight=config.weight))
        self._wake, ownership.on_idle = Wake(host, self.name), self.wake
        self.hand_over = HandOver(host, config, ownership, self._has_successor)

    @property
    def epoch(self) -> int:
        """The epoch of the assignment that this member follows."""
        return self.state.claim.epoch

    def wake(self) -> None:
        """Let the next update of the ring begin at once, because its data has changed."""
        self._wake.set()

    def run(self, stop: Stop) -> None:
        """Be a member until `stop` is set, then give back the slots as their work ends, until `stop` is cancelled."""
        stop.on_set(self.wake)
        self.state = New(Claim(weight=self._config.weight, division=self._division()))
        while not stop.is_cancelled():
            try:
                self._turn(stops=stop.is_set())
                self.last_error = ""
                self.hand_over.turned()
                if isinstance(self.state, Left):
                    break
                self._wake.wait(self._next_turn())
            except (APIError, ConnectionLost, DecodeError, ForeignObject) as error:
                self.last_error = kept_text(error)
                log.warning("the turn of a ring's member failed", ring=self._config.name, error=error)
                self._wake.wait(self._host.monotonic() + self._pause())
        self._ownership.end_all("the member has left the ring")

    def _has_successor(self) -> bool:
        return self.status.has_successor(self.state.claim.division)

    def _enter(self, state: State) -> None:
        assert (type(self.state), type(state)) in TRANSITIONS, f"{self.state} cannot become {state}"
        self.state = state

    def _turn(self, *, stops: bool) -> None:
        """Read, decide and write once."""
        self._look_at_own_deadline()
        ring = self._objects.read_ring(self._deadline())
        leases = self._objects.read_leases(self._deadline())
        now = self._host.monotonic()
        own = leases.pop(self.identity, None)
        self._check_own(own, ring)
        self._others.look({name: self._objects.sighting(name, lease, now) for name, lease in leases.items()}, now)
        if stops and isinstance(self.state, New) and own is None:
            self._enter(Left(self.state.claim))
            return
        if stops and isinstance(self.state, Member):
            self._enter(Leaving(*attrs.astuple(self.state, recurse=False)))
        self._act(ring, now, stops=stops)
        if isinstance(self.state, Leaving) and self.state.claim.has_left:
            self._enter(Left(self.state.claim))
            return
        self.status.looked(self._others.all, now)
        self._publish(ring, now)

    def _act(self, ring: PublishedRing, now: float, *, stops: bool) -> None:
        """Drain what is another's, claim what is ours, and own it once the server has stored the claim."""
        state, assignment, others = self.state, ring.assignment, self._others.all
        if isinstance(state, Joined):
            state = attrs.evolve(state, ring_uid=ring.uid)
            self._enter(state)
        wanted = assignment.slots_of(self.identity) if assignment is not None else 0
        # A claim that was stored without an answer is followed as soon as it is read, so its slots stay prepared.
        prepared = self._prepare(wanted | state.claim.slots | self._objects.in_doubt)
        step = next_step(self._me(prepared, leaves=stops), assignment, others, now)
        if behind := step.take & ~self._ready(step.take):
            prepared &= ~behind
            step = next_step(self._me(prepared, leaves=stops), assignment, others, now)
        self._is_behind = bool(behind)
        self._wait_for(step.waits_for, now)
        if step.drain and isinstance(state, Joined):
            self._ownership.drain(step.drain)
            state = attrs.evolve(state, draining=state.draining | step.drain)
            self._enter(state)
            step = next_step(self._me(prepared, leaves=stops), assignment, others, now)
        draining = state.draining & ~step.resume if isinstance(state, Joined) else state.claim.slots
        is_due = not isinstance(state, Joined) or now >= state.renew_at
        if is_due or step.claim != state.claim or step.resume:
            attempt = LeaseWrite(step.claim, draining & step.claim.slots, assignment, SendTime.now(self._host))
            self._objects.write_lease(attempt, self._deadline())
            self._stored(attempt)

    def _wait_for(self, other: str, now: float) -> None:
        """Note the member of another division that is in the way; empty for none."""
        before, self.status.waits_for = self.status.waits_for, other
        if other and not before:
            log.info("waits for members of another division", ring=self._config.name, other=other)
        if before and not other:
            self._free_at = now

    def _me(self, prepared: int, *, leaves: bool) -> Membership:
        works = not self._problem() and not self._publisher.rests(self._host.monotonic())
        match self.state:
            case Joined(claim=claim, ready_at=ready_at, draining=draining):
                drained = self._ownership.drained(draining)
                return Membership(self.identity, claim, ready_at, draining, drained, prepared, works, leaves)
            case state:
                drained = self._ownership.drained(state.claim.slots)
                return Membership(self.identity, state.claim, math.inf, state.claim.slots, drained, leaves=leaves)

    def _stored(self, attempt: LeaseWrite) -> None:
        """Follow a claim that the server has stored: own its slots but those that drain, until it must be renewed."""
        before, claim, sent = self.state, attempt.claim, attempt.sent
        until, renew_at = sent.elapsed + self._config.renew_deadline, sent.at + self._config.retry_period
        if isinstance(before, Joined):
            if not before.term.extend(until):
                self._rejoin("its renewal was answered too late")
                return
            self._enter(attrs.evolve(before, claim=claim, sent=sent, renew_at=renew_at, draining=attempt.draining))
        else:
            term = Term(self._host, claim.epoch, until)
            self._ownership.begin(term)
            ready_at = self._host.monotonic() + self._config.lease_duration
            entered = Leaving if claim.is_leaving else Member
            self._enter(entered(term, claim, ready_at, sent, renew_at, attempt.draining))
        self.status.stored(claim.slots, claim.slots & ~attempt.draining)
        # All that is owned is replaced: a write that was thought lost may have dropped slots that work goes on for.
        given = 0 if attempt.ring is None else attempt.ring.slots_of(self.identity)
        if new := self._ownership.own(claim.slots & ~attempt.draining, attempt.ring, given):
            log.info("owns slots", ring=self._config.name, member=self.identity, slots=count(new), epoch=self.epoch)
            self._on_take(new)

    def _look_at_own_deadline(self) -> None:
        if not isinstance(self.state, Joined):
            return
        margin = self._config.lease_duration - self._config.renew_deadline
        if self.state.term.is_over():
            self._rejoin(self.state.term.why_over)
        elif (ahead := self.state.sent.ahead(SendTime.now(self._host))) > margin:
            # Only a machine that has no clock for it, such as a paused virtual one, is found so.
            self._rejoin(f"the wall clock ran ahead by {ahead:.1f} s: the machine may have been suspended")

    def _check_own(self, lease: dict[str, Any] | None, ring: PublishedRing) -> None:
        """Compare our lease and the assignment with what we know, and own nothing if the server has gone back."""
        landed = self._objects.compare(lease)
        if landed is not None and isinstance(self.state, Joined):
            self._stored(landed)
        match self.state:
            case Joined() if not self._objects.is_as_written:
                self._rejoin("its lease is not as it was last written")
            case Joined(claim=claim, ring_uid=uid) if is_older(claim, uid, ring.uid, ring.assignment):
                self._rejoin("the published assignment is older than the one that it follows")

    def _rejoin(self, why: str) -> None:
        """Own nothing from now on, and become a new member, which claims the slots of writes that may land yet."""
        log.warning("the membership in a ring is over", ring=self._config.name, member=self.identity, reason=why)
        kept = self._ownership.end_all(why) & self.state.claim.slots
        self.status.lost()
        self._enter(New(Claim(slots=kept, weight=self._config.weight, division=self.state.claim.division)))

    def _publish(self, ring: PublishedRing, now: float) -> None:
        """Publish the assignment that follows from the members, if it is our turn and it differs."""
        if isinstance(self.state, Joined):
            own = Sighting(self.identity, self.state.claim, "", self._config.lease_duration, now)
            if self._publisher.act(ring, own, self._others.all, self._patient_until(self.state), self._deadline()):
                self.wake()

    def _patient_until(self, state: Joined) -> float:
        """Return until when members that are joining are waited for."""
        return max(state.ready_at, self._free_at) + self._config.retry_period

    def _deadline(self) -> float:
        """Return when a request that begins now must be over."""
        soon = self._host.monotonic() + self._config.request_timeout
        return min(soon, self.state.term.held.until) if isinstance(self.state, Joined) else soon

    def _pause(self) -> float:
        """Return the seconds until the next regular turn: a part at random keeps members from staying in step."""
        return self._config.retry_period * self._host.random.uniform(0.8, 1.0)

    def _next_turn(self) -> float:
        """Return when the next turn begins: after a period, when we are ready, when another's claim ends, or soon."""
        now, state = self._host.monotonic(), self.state
        due = self._others.next_end(now)
        if isinstance(state, Joined):
            due += [at for at in (state.ready_at, self._patient_until(state)) if at > now]
        drains = isinstance(state, Joined) and state.draining
        return min([now + (SOON if drains or self._is_behind else self._pause()), *due])
