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

from controller_runtime.client.client import Client
from controller_runtime.core.errors import AlreadyExists, APIError, Conflict, ConnectionLost, DecodeError, NotFound
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.election.term import Term
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.decision import (
    Membership,
    Sighting,
    is_older,
    long_dead,
    next_assignment,
    next_step,
    publishes,
)
from controller_runtime.ring.objects import Attempt, PublishedRing, RingObjects
from controller_runtime.ring.ownership import Ownership
from controller_runtime.ring.records import Claim
from controller_runtime.ring.slots import count
from controller_runtime.ring.status import GIVEN, LOST, TAKEN, RingStatus
from controller_runtime.ring.token import Tokens

log = get_logger(__name__)

SOON = 0.1
"""Seconds between two turns while work in hand keeps slots that another member waits for."""

OnSlots = Callable[[int], None]
"""Called with a set of slots, on the member's thread, with no lock held; it must not wait."""


def _ignore(slots: int) -> None:
    """Do nothing: the default of a callback."""


def _all_prepared(slots: int) -> int:
    return slots


def _no_problem() -> str:
    return ""


class RingMember:
    """Takes part in a ring, from `run` until its stop, and gives its slots back at the end.

    A member whose lease was not renewed in time, or is not as the member last wrote it, owns nothing from that moment.
    It then becomes a new member, which may own slots after one duration of a lease.

    Args:
        host: Its clock, threads and randomness.
        client: Reaches the API server; must not be limited by `ownership`.
        config: The ring.
        ownership: The slots that the member owns, for the code that does the work.
        on_take: Called with slots that the member owns from now on: all their objects want a reconcile.
        prepare: Called with the slots that the member has or will have; returns those of them whose objects are in its
            caches. A slot is owned only after that.
        problem: Returns in one line why this replica does not do its work; empty if it does. Until then its slots are
            given to other members.

    Attributes:
        name: The member's name among the members of a manager.
        identity: The identity under which it takes part, the name of its lease.
        last_error: Why the last turn failed; empty if it succeeded.
        epoch: The epoch of the assignment that it follows.
        status: Its observations and counts.
        tokens: The fencing tokens of its slots.

    Threads: `run` on one, which also makes the callbacks; `wake` and the attributes from any.
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
        problem: Callable[[], str] = _no_problem,
    ) -> None:
        config = config.named_by(host)
        self.name = f"ring/{config.name}"
        self.identity = config.identity or ""
        self.last_error = ""
        self._host, self._config, self._ownership = host, config, ownership
        self._objects = RingObjects(host, client, config)
        self._on_take, self._prepare, self._problem = on_take, prepare, problem
        self.status, self.tokens = RingStatus(host, self.identity, config.renew_deadline), Tokens(host, self.identity)
        # Guards the field below; `run` waits on it.
        self._condition = host.condition(self.name)
        self._is_woken = False
        # The fields below belong to the thread of `run`.
        self._term: Term | None = None
        self._ready_at = self._patient_until = math.inf
        self._claim = Claim(weight=config.weight)
        self._draining = 0
        self._ring_uid = ""
        self._others: dict[str, Sighting] = {}
        self._renew_at = host.monotonic()
        self._is_new = True

    @property
    def epoch(self) -> int:
        """The epoch of the assignment that it follows."""
        return self._claim.epoch

    def wake(self) -> None:
        """Have the next turn begin at once: something that it reads has changed."""
        with self._condition:
            self._is_woken = True
            self._condition.notify_all()

    def run(self, stop: Stop) -> None:
        """Take part until `stop` is set, then give back all slots as their work ends; until `stop` is cancelled."""
        stop.on_set(self.wake)
        while not stop.is_cancelled():
            try:
                if self._turn(is_leaving=stop.is_set()):
                    break
                self.last_error = ""
                self._wait(self._next_turn())
            except (APIError, ConnectionLost, DecodeError) as error:
                self.last_error = str(error)
                log.warning("the turn of a ring's member failed", ring=self._config.name, error=error)
                self._wait(self._host.monotonic() + self._pause())
        self._ownership.end_all("the member has left the ring")

    def _turn(self, *, is_leaving: bool) -> bool:
        """Read, decide and write once; return whether the member has left."""
        self._look_at_own_deadline()
        ring = self._objects.read_ring(self._deadline())
        leases = self._objects.read_leases(self._deadline())
        now = self._host.monotonic()
        own = leases.pop(self.identity, None)
        if own is None and self._claim.is_leaving and not self._claim.slots:
            return True  # the lease was deleted, though the answer was lost
        self._check_own(own, ring)
        self._note(leases, now)
        if is_leaving and not self._claim.is_leaving:
            self._claim = attrs.evolve(self._claim, is_leaving=True, is_ready=False)
            self._renew_at = now
        self._ring_uid = ring.uid
        self._act(ring, now)
        if self._claim.is_leaving and not self._claim.slots:
            self._objects.delete_lease(self._deadline())
            return True
        self.status.looked(self._claim, self._others.values(), now)
        self._publish(ring, now)
        return False

    def _act(self, ring: PublishedRing, now: float) -> None:
        """Drain what is another's, claim what is ours, and take it once the claim is written."""
        self.tokens.follow(ring.assignment)
        wanted = ring.assignment.slots_of(self.identity) if ring.assignment is not None else 0
        prepared = self._prepare(wanted | self._claim.slots)
        step = next_step(self._me(prepared), ring.assignment, self._others.values(), now)
        if step.drain:
            self._ownership.drain(step.drain)
            self._draining |= step.drain
            step = next_step(self._me(prepared), ring.assignment, self._others.values(), now)
        if step.resume:
            self._draining &= ~step.resume
            self._take(step.resume)
        if step.claim != self._claim or self._is_new or now >= self._renew_at:
            self._write(step.claim)

    def _me(self, prepared: int) -> Membership:
        drained = self._ownership.drained(self._draining)
        works = not self._problem()
        return Membership(self.identity, self._claim, self._ready_at, self._draining, drained, prepared, works)

    def _write(self, claim: Claim) -> None:
        sent_at = self._host.monotonic()
        attempt = Attempt(claim, sent_at)
        self._objects.write_lease(attempt, self._deadline())
        self._landed(attempt)

    def _landed(self, attempt: Attempt) -> None:
        """Follow a claim that the server has stored: own what is new in it, until it must be renewed."""
        until = attempt.sent_at + self._config.renew_deadline
        if self._is_new:
            self._term = Term(self._host, attempt.claim.epoch, until)
            self._ownership.begin(self._term)
            self._ready_at = self._host.monotonic() + self._config.lease_duration
            self._patient_until = self._ready_at + self._config.retry_period
            self._is_new = False
        elif self._term is None or not self._term.extend(until):
            self._rejoin("its renewal was answered too late")
            return
        new = attempt.claim.slots & ~self._claim.slots
        self.status.changed(GIVEN, self._claim.slots & ~attempt.claim.slots)
        self._claim = attempt.claim
        self._draining &= attempt.claim.slots
        self._renew_at = attempt.sent_at + self._config.retry_period
        self.status.changed(TAKEN, new)
        self._take(new)

    def _take(self, slots: int) -> None:
        if slots:
            self._ownership.take(slots)
            log.info("owns slots", ring=self._config.name, member=self.identity, slots=count(slots), epoch=self.epoch)
            self._on_take(slots)

    def _look_at_own_deadline(self) -> None:
        if self._term is not None and not self._is_new and self._term.is_over():
            self._rejoin(self._term.why_over)

    def _check_own(self, lease: dict[str, Any] | None, ring: PublishedRing) -> None:
        """Compare our lease and the assignment with what we know, and own nothing if the server has gone back."""
        landed = self._objects.compare(lease)
        if landed is not None and not self._is_new:
            self._landed(landed)
        if self._is_new:
            return
        if not self._objects.is_as_written:
            self._rejoin("its lease is not as it was last written")
        elif is_older(self._claim, self._ring_uid, ring.uid, ring.assignment):
            self._rejoin("the published assignment is older than the one that it follows")

    def _rejoin(self, why: str) -> None:
        """Own nothing from now on, and become a new member."""
        log.warning("the membership in a ring is over", ring=self._config.name, member=self.identity, reason=why)
        self._ownership.end_all(why)
        self.status.changed(LOST, self._claim.slots)
        self._claim = Claim(weight=self._config.weight, is_leaving=self._claim.is_leaving)
        self._draining, self._ring_uid, self._is_new = 0, "", True
        self._ready_at = self._patient_until = math.inf
        self._objects.forget_attempts()

    def _note(self, leases: dict[str, dict[str, Any]], now: float) -> None:
        seen = {name: self._objects.sighting(name, lease, now) for name, lease in leases.items()}
        self._others = {
            name: self._others[name].again(later) if name in self._others else later for name, later in seen.items()
        }

    def _publish(self, ring: PublishedRing, now: float) -> None:
        """Publish the assignment that follows from the members, if it is our turn and it differs."""
        own = Sighting(self.identity, self._claim, "", self._config.lease_duration, now)
        members = {**self._others, self.identity: own}
        if self._is_new or not publishes(self.identity, members, now):
            return
        following = next_assignment(ring.assignment, [*members.values()], now, self._patient_until)
        if following is None and ring.assignment is not None and self._objects.has_gone_back:
            following = ring.assignment.followed_by(ring.assignment.owners)  # for its incarnation
        if following is None:
            if (dead := long_dead(ring.assignment, self._others.values(), now)) is not None:
                log.info("deletes the lease of a dead member", ring=self._config.name, member=dead.member)
                self._objects.delete_dead(dead, self._deadline())
            return
        try:
            self._objects.publish(ring, following, self._deadline())
        except (Conflict, AlreadyExists, NotFound):  # another member has published: the next turn reads it
            pass
        else:
            log.info("published an assignment", ring=self._config.name, epoch=following.epoch, members=len(members))
        self.wake()

    def _deadline(self) -> float:
        """Return when a request that begins now must be over."""
        soon = self._host.monotonic() + self._config.request_timeout
        return soon if self._is_new or self._term is None else min(soon, self._term.held.until)

    def _pause(self) -> float:
        """Return the seconds until the next regular turn: a part at random keeps members from staying in step."""
        return self._config.retry_period * self._host.random.uniform(0.8, 1.0)

    def _next_turn(self) -> float:
        """Return when the next turn begins: after a period, when we are ready, when another's claim ends, or soon."""
        now = self._host.monotonic()
        at = now + (SOON if self._draining else self._pause())
        others = (other.expires_at for other in self._others.values())
        return min([at, *(due for due in (self._ready_at, self._patient_until, *others) if due > now)])

    def _wait(self, until: float) -> None:
        """Wait until a time, in monotonic seconds, or until `wake`."""
        with self._condition:
            while not self._is_woken and self._host.monotonic() < until:
                self._condition.wait_until(until)
            self._is_woken = False
