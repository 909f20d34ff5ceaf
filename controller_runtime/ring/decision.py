# SPDX-License-Identifier: Apache-2.0
"""Decides what a member of a ring does next, and what the publisher publishes, from what both have read."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from controller_runtime.ring.assignment import NOBODY, assigned
from controller_runtime.ring.records import Assignment, Claim
from controller_runtime.ring.slots import SLOTS, set_of, slots_in

LONG_DEAD = 10
"""Durations of a lease after which a silent member's lease is deleted. A member that wakes up later begins again; until
then its lease tells people that it existed."""


@attrs.frozen
class Sighting:
    """The lease of another member, and when a look first found it in its present version.

    Attributes:
        member: The member's identity.
        claim: Its claim.
        version: The lease's resourceVersion.
        duration: Seconds for which others respect the claim after they saw the lease change.
        seen_at: Monotonic seconds of our own clock at which a look first found this version.
    """

    member: str
    claim: Claim
    version: str
    duration: float
    seen_at: float

    @property
    def expires_at(self) -> float:
        """Monotonic seconds from which the claim counts no more, unless the lease changes before.

        The member's own deadline counts from before it wrote the lease, and is shorter. So the member has stopped by
        then, however wrong any wall clock is.
        """
        return self.seen_at + self.duration

    def again(self, later: Sighting) -> Sighting:
        """Return what is known after a later look: an unchanged lease keeps its age."""
        return self if later.version == self.version else later

    def vanished(self, now: float) -> Sighting:
        """Return what is known after the first look that does not find the lease: it may have changed until then."""
        return attrs.evolve(self, version="", seen_at=now)


@attrs.frozen
class Membership:
    """The state of a member, as it knows it.

    Attributes:
        identity: Its identity.
        claim: The claim that the server has stored, as far as it knows; `slots` are those that it owns or still has
            work in hand for.
        ready_at: Monotonic seconds from which it may own slots: one duration of a lease after its lease was first
            written. By then a member has stopped that the server has lost with the restore of a backup.
        draining: The slots of its claim that it takes no work for any more.
        drained: Those of them that have no work in hand.
        prepared: The slots whose objects are in its caches.
        works: Whether it is healthy. If not, it gets no slots as long as there are other members.
        leaves: Whether it stops, and wants no slots.
    """

    identity: str
    claim: Claim
    ready_at: float
    draining: int = 0
    drained: int = 0
    prepared: int = (1 << SLOTS) - 1
    works: bool = True
    leaves: bool = False


@attrs.frozen
class Step:
    """The next step of a member: it begins no more work for `drain`, writes `claim`, and then owns `take` and `resume`.

    A slot of `resume` waits for the write, too: an earlier write that drops it may be under way without an answer, and
    land before this one.

    Attributes:
        claim: The claim to write into its lease.
        drain: The slots for which it begins no more work from now on.
        resume: The slots that it was draining, and that are its own again once the claim is stored.
        take: The slots that it owns once the claim is stored.
        waits_for: The member of another division that is in the way; empty for none.
    """

    claim: Claim
    drain: int
    resume: int
    take: int
    waits_for: str = ""


def next_step(me: Membership, ring: Assignment | None, others: Iterable[Sighting], now: float) -> Step:
    """Return what a member does next.

    A slot is taken if the newest assignment gives it to us, and each other member whose claim counts neither has it
    nor follows an assignment older than the one that gave it to us. Such a member could still take it by what it read
    before. Our claim is written before any work begins, and a claim drops a slot only after the work in hand. Work for
    a slot that the assignment takes from us goes on until its new owner can take it, see `_kept`, unless we leave.

    While members of another division work, we own nothing: see `in_the_way`.

    Args:
        me: The member.
        ring: The assignment, read from the server before `others`, or None.
        others: The other members, read from the server.
        now: Monotonic seconds.
    """
    others = [*others]
    waits_for = in_the_way(me.claim.division, ring, others, now)
    is_ours = ring is not None and ring.division == me.claim.division
    mine = ring.slots_of(me.identity) if ring is not None and is_ours and not me.leaves else 0
    held = me.claim.slots & ~(me.draining & me.drained & ~mine)
    drain = held & ~mine & ~me.draining
    if ring is not None and is_ours and not me.leaves:
        drain &= ~_kept(drain, ring, me.claim.division, others, now)
    take = 0
    if ring is not None and now >= me.ready_at:
        take = mine & ~held & me.prepared & ~_blocked(mine & ~held, ring, me.claim.division, others, now)
    claim = attrs.evolve(
        me.claim,
        epoch=me.claim.epoch if ring is None else ring.epoch,
        slots=held | take,
        is_ready=now >= me.ready_at and me.works and not me.leaves and not waits_for,
        is_leaving=me.leaves,
    )
    return Step(
        claim,
        drain=drain,
        resume=held & mine & me.draining if now >= me.ready_at else 0,
        take=take,
        waits_for=waits_for,
    )


def in_the_way(division: str, ring: Assignment | None, others: Iterable[Sighting], now: float) -> str:
    """Return a member for which those of a division wait, because it divides other objects or in another way.

    The division that published works. Another one waits until no claim of the former counts: two at once would have two
    owners for some objects and none for others. Without an assignment, it waits for members that claim slots.

    Args:
        division: The division of the member that may wait.
        ring: The present assignment, or None.
        others: The other members.
        now: Monotonic seconds.

    Returns:
        The name of the first such member in the order of `others`; empty if absent.
    """
    if ring is not None and ring.division == division:
        return ""
    at_work = None if ring is None else ring.division
    for other in others:
        claim, counts = other.claim, now < other.expires_at and not other.claim.has_left
        if counts and claim.division != division and (claim.slots or claim.division == at_work):
            return other.member
    return ""


def is_older(me: Claim, ring_uid: str, uid: str, ring: Assignment | None) -> bool:
    """Return whether the server has gone back: it shows another ring than the one followed, or an older assignment.

    Args:
        me: Our claim.
        ring_uid: The uid of the published object that we follow; empty if we follow none.
        uid: The uid of the one on the server; empty if absent.
        ring: The assignment in it; None if there is none that can be read.
    """
    return bool(ring_uid) and (uid != ring_uid or (ring is not None and ring.epoch < me.epoch))


def publishes(own: Sighting, ring: Assignment | None, others: Iterable[Sighting], now: float) -> bool:
    """Return whether a member is the one that publishes: of the ready ones whose claims count, the first by name.

    Only members of the division that published are asked. Once none of them is there, or before there is an assignment,
    those of all divisions are asked: then only members that wait for nothing say that they are ready.

    Two members may both believe it for a while. That does no harm: an assignment is written over the version that was
    read, so only one of two that follow the same assignment is ever published.

    Args:
        own: The member that asks.
        ring: The present assignment, or None.
        others: The other members.
        now: Monotonic seconds.
    """
    division, is_ours = own.claim.division, ring is not None and ring.division == own.claim.division
    asked = (member for member in (own, *others) if not is_ours or member.claim.division == division)
    living = [member.member for member in asked if _lives(member, now)]
    return bool(living) and min(living) == own.member


def next_assignment(
    ring: Assignment | None,
    members: Iterable[Sighting],
    now: float,
    patient_until: float = -math.inf,
    division: str = "",
) -> Assignment | None:
    """Return the assignment to publish; None if the present one is as it should be, or shall stay for now.

    The first of several replicas that start together would be given all slots, and list all objects, only to give most
    of them up a moment later. So while no living member owns a slot, those that are joining are waited for.

    Args:
        ring: The present assignment, or None: then it is made from what the members claim.
        members: All members, the publisher included.
        now: Monotonic seconds.
        patient_until: Monotonic seconds until which members that are joining are waited for.
        division: The publisher's; members of others are given no slots.
    """
    members = [member for member in members if member.claim.division == division]
    weights = {member.member: member.claim.weight for member in members if _lives(member, now)}
    if not weights:
        return None
    before = ring or _rebuilt(members)
    is_start = not any(owner in weights for owner in before.owners)
    if is_start and now < patient_until and any(_joins(member, now) for member in members):
        return None
    owners = assigned(weights, before.owners)
    if ring is not None and owners == ring.owners and ring.division == division:
        return None
    return before.followed_by(owners, division)


def long_dead(ring: Assignment | None, others: Iterable[Sighting], now: float) -> Sighting | None:
    """Return a member whose lease can be deleted, and to which no slot is assigned.

    It was silent for `LONG_DEAD` of its durations; or it has left, and each other member has had one duration in which
    to see that. A member that had not seen it would keep its claim for as long.
    """
    owners = set(ring.owners) if ring is not None else set()
    for other in others:
        patience = 1 if other.claim.has_left else LONG_DEAD
        if other.version and now >= other.seen_at + patience * other.duration and other.member not in owners:
            return other
    return None


def _lives(member: Sighting, now: float) -> bool:
    return member.claim.is_ready and now < member.expires_at


def _joins(member: Sighting, now: float) -> bool:
    return not member.claim.is_ready and not member.claim.is_leaving and now < member.expires_at


def _rebuilt(members: Iterable[Sighting]) -> Assignment:
    """Return what the members claim as an assignment: a new one then moves no more than it must."""
    owners, epoch = [NOBODY] * SLOTS, 0
    for member in members:
        epoch = max(epoch, member.claim.epoch)
        for slot in slots_in(member.claim.slots):
            owners[slot] = member.member
    return Assignment(epoch, tuple(owners), (0,) * SLOTS)


def _kept(given_away: int, ring: Assignment, division: str, others: Iterable[Sighting], now: float) -> int:
    """Return those of our slots that their new owners could not take yet, if we gave them up now.

    The new owner has to be there, and each other member has to follow the assignment that gave it the slot. Until then
    the slot would have no owner, so our work for it goes on. Our claim keeps others away from it, as before. No two
    members wait for each other, since each follows an assignment at its next turn, whatever it owns.
    """
    others, takers = [*others], 0
    for other in others:
        if now < other.expires_at and not other.claim.is_leaving:
            takers |= ring.slots_of(other.member)
    return given_away & (~takers | _blocked(given_away, ring, division, others, now))


def _blocked(wanted: int, ring: Assignment, division: str, others: Iterable[Sighting], now: float) -> int:
    """Return the wanted slots that another member may still own; all of them while one of another division has any."""
    blocked = 0
    for other in others:
        if now < other.expires_at and not other.claim.has_left:
            blocked |= other.claim.slots
            if other.claim.slots and other.claim.division != division:
                return wanted
            if other.claim.epoch < ring.epoch:
                blocked |= set_of(slot for slot in slots_in(wanted) if ring.since[slot] > other.claim.epoch)
    return blocked
