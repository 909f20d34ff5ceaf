# SPDX-License-Identifier: Apache-2.0
"""Decides the next step for the lease: from its record, the time of the first read of it, and our own leadership."""

from __future__ import annotations

import enum

import attrs

from controller_runtime.election.record import LeaseRecord


@attrs.frozen
class Sighting:
    """The content of the lease, and when this replica first read it with this content.

    Attributes:
        record: The record in the lease; None if there is no lease.
        seen_at: The end of the first read or write by which this replica learned of this record, in monotonic seconds
            of our own clock.
        vanished: If the lease has disappeared, the seconds for which its last holder still counts: it may have renewed
            the lease after our last read, before somebody deleted it.
    """

    record: LeaseRecord | None
    seen_at: float
    vanished: int = 0

    @property
    def expires_at(self) -> float:
        """The time from which other replicas may take the lease, unless its record changes before; monotonic seconds.

        The holder's own deadline counts from a time before it wrote the record; `expires_at` counts from our later
        read. So the holder has stopped by then, however wrong any wall clock is.
        """
        return self.seen_at + (self.record.duration if self.record is not None else self.vanished)

    def again(self, record: LeaseRecord | None, now: float) -> Sighting:
        """Return the sighting after a read that ended at `now` with `record`: an unchanged record keeps its time."""
        if record == self.record:
            return self
        held = record is None and self.record is not None and self.record.holder != "" and now < self.expires_at
        return Sighting(record, now, self.record.duration if held and self.record is not None else 0)


@attrs.frozen
class HeldLease:
    """The leadership of this replica, at one moment.

    Attributes:
        token: The fencing token, which is `leaseTransitions` of the lease.
        until: The time in monotonic seconds at which it ends, unless it is renewed before.
    """

    token: int
    until: float


class Action(enum.Enum):
    """The next step of an elector."""

    CREATE = "create"
    """Create the lease, with this replica as its holder: it does not exist, and no earlier holder can still lead."""

    TAKE = "take"
    """Update the lease to name this replica: it has no holder, or an expired one."""

    RENEW = "renew"
    """Update the lease, because this replica leads."""

    WAIT = "wait"
    """Do nothing: another replica leads, or has to be elected."""

    LOST = "lost"
    """Stop: our leadership is over, and stays over."""

    YIELD = "yield"
    """End the work and renew no more: the coordinator prefers another candidate."""

    GIVE_BACK = "give back"
    """Clear the holder of the lease: it names this replica, but its time is too short to begin to lead."""


def decide(seen: Sighting, identity: str, held: HeldLease | None, now: float) -> Action:
    """Return the next step of a replica in an election without a coordinator.

    A leader that finds any record but its own has lost the lease: another replica may have led in between, even if none
    does now. A replica that does not lead treats a record with its own name as free, because a write whose answer was
    lost may have succeeded. Each leadership gets a new token.

    Args:
        seen: The content of the lease at the last read.
        identity: The identity of this replica.
        held: The leadership of this replica; None if it does not lead.
        now: The time in monotonic seconds.
    """
    record = seen.record
    if held is not None:
        is_ours = record is not None and (record.holder, record.transitions) == (identity, held.token)
        return Action.RENEW if is_ours and now < held.until else Action.LOST
    if record is None:
        return Action.CREATE if seen.expires_at <= now else Action.WAIT
    is_free = record.holder in ("", identity) or seen.expires_at <= now
    return Action.TAKE if is_free else Action.WAIT


def decide_coordinated(seen: Sighting, identity: str, held: HeldLease | None, now: float) -> Action:
    """Return the next step of a replica in an election in which a coordinator creates the lease and names its holder.

    A lease that names this replica but expired before it began to lead is released: no other client would renew it or
    change its holder.

    Args:
        seen: The content of the lease at the last read.
        identity: The identity of this replica.
        held: The leadership of this replica; None if it does not lead.
        now: The time in monotonic seconds.
    """
    record = seen.record
    if held is not None:
        is_ours = record is not None and (record.holder, record.transitions) == (identity, held.token)
        if not is_ours or now >= held.until:
            return Action.LOST
        return Action.YIELD if record is not None and record.preferred else Action.RENEW
    if record is None or record.holder != identity:
        return Action.WAIT
    return Action.GIVE_BACK if record.preferred or seen.expires_at < now else Action.TAKE


def is_vacant(seen: Sighting, now: float) -> bool:
    """Return whether no replica leads, according to the last read of the lease."""
    return seen.record is None or not seen.record.holder or seen.expires_at <= now
