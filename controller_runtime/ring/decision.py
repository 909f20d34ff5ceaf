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
"""The number of lease durations after which a silent member's lease is deleted. A member that continues later begins
again as a new one; until then its lease tells people that it existed.
"""


@attrs.frozen
class Sighting:
    """The lease of another member in one version, and when this member first read it.

    Attributes:
        member: The identity of the other member.
        claim: The claim in its lease.
        version: The version of the lease.
        duration: Seconds for which other members respect the claim after they saw the lease change.
        seen_at: The time of the first read of this version, in monotonic seconds of our own clock.
    """

    member: str
    claim: Claim
    version: str
    duration: float
    seen_at: float

    @property
    def expires_at(self) -> float:
        """The time from which the claim no longer counts, unless the lease changes before; monotonic seconds.

        The other member's own deadline counts from a time before it wrote the lease, and is shorter. So it has stopped
        by then, however wrong any wall clock is.
        """
        return self.seen_at + self.duration

    def again(self, later: Sighting) -> Sighting:
        """Return what is known after a later read: `later`, but an unchanged lease keeps the time of its first read."""
        return self if later.version == self.version else later

    def vanished(self, now: float) -> Sighting:
        """Return the sighting for a lease that is absent at `now`. It may have been renewed until then, so its time is
        `now`.
        """
        return attrs.evolve(self, version="", seen_at=now)


@attrs.frozen
class Membership:
    """The state of a member, as it knows it. Sets of slots are bit sets.

    Attributes:
        identity: The identity of the member.
        claim: The claim that the server has stored, as far as the member knows; its `slots` are those that it owns or
            still has running work for.
        ready_at: The time from which it may own slots, in monotonic seconds: one lease duration after its lease was
            first written, when a member that a restored backup does not have has stopped.
        draining: The slots of its claim for which it starts no more work.
        drained: The slots of `draining` without running work.
        prepared: The slots whose objects are in its caches.
        works: Whether it is healthy. If not, it gets no slots as long as there are other members.
        leaves: Whether it is stopping, and wants no slots.
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
    """The next step of a member: it stops new work for `drain`, writes `claim`, and then owns `take` and `resume`.

    A slot of `resume` waits for the write, too: an earlier write that drops the slot may be on its way without an
    answer, and reach the server before this one.

    Attributes:
        claim: The claim to write into its lease.
        drain: The slots for which it starts no more work from now on.
        resume: The slots that it was draining, and that it owns again once the claim is stored.
        take: The slots that it newly owns once the claim is stored.
        waits_for: A member with another division for which it waits; empty for none.
    """

    claim: Claim
    drain: int
    resume: int
    take: int
    waits_for: str = ""


def next_step(me: Membership, ring: Assignment | None, others: Iterable[Sighting], now: float) -> Step:
    """Return the next step of a member.

    This member takes a slot if the newest assignment gives it to this member, and no other member with a valid claim
    has the slot or follows an assignment older than the one that gave it to this member; such a member could still take
    the slot by its older data. The claim is written before any work begins, and drops a slot only after its running
    work. Work for a slot that now belongs to another member continues until that member can take it (see `_kept`),
    unless this member leaves.

    While members with another division work, this member owns nothing: see `in_the_way`.

    Args:
        me: The state of this member.
        ring: The assignment, read from the server before `others`; None if there is none.
        others: The leases of the other members, read from the server.
        now: The time in monotonic seconds.
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
    """Return the first member because of which members with the division `division` must wait; empty if there is none.

    A division is the way in which a program assigns objects to slots. With two divisions at once, some objects would
    have two owners and others none. So only members with the division of the published assignment work, and others wait
    until those have no valid claims. They also wait, even without an assignment, for members of other divisions that
    claim slots.

    Args:
        division: The division of the member that may wait.
        ring: The current assignment, or None.
        others: The other members.
        now: The time in monotonic seconds.
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
    """Return whether the server's data went back: it has another ConfigMap than the known one, or an older assignment.

    Args:
        me: The claim of this member.
        ring_uid: The uid of the ConfigMap that this member follows; empty if it follows none.
        uid: The uid of the ConfigMap on the server; empty if there is none.
        ring: The assignment in the ConfigMap; None if there is none or it cannot be read.
    """
    return bool(ring_uid) and (uid != ring_uid or (ring is not None and ring.epoch < me.epoch))


def publishes(own: Sighting, ring: Assignment | None, others: Iterable[Sighting], now: float) -> bool:
    """Return whether this member publishes: it is the first by name of the ready members with a valid claim.

    A claim is valid until its lease expires. A ready member was a member for one lease duration, works, is not
    leaving, and waits for no other division. For divisions see `in_the_way`. If this member has the division of the
    published assignment, only members of that division are considered, else those of all divisions.

    For a while two members may both publish. That does no harm: an assignment is written only over the version that was
    read, so the second write fails.

    Args:
        own: The lease of this member.
        ring: The current assignment, or None.
        others: The leases of the other members.
        now: The time in monotonic seconds.
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
    """Return the assignment to publish; None if the current one should stay.

    If several replicas start together, the first would get all slots, and list all objects, only to give most of them
    up a moment later. So while no live member owns a slot, members that are joining are waited for.

    Args:
        ring: The current assignment; if it is None, the members' claims replace it.
        members: All members, the publisher included.
        now: The time in monotonic seconds.
        patient_until: The end of the wait for joining members, in monotonic seconds.
        division: The division of the publisher; members with other divisions get no slots.
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
    """Return a member without assigned slots whose lease can be deleted; None if there is none.

    Its lease has not changed for `LONG_DEAD` lease durations; or it has left, and the other members had one lease
    duration to see that, since a member that has not seen it respects the claim for so long.
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
