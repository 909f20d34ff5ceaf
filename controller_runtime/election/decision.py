# SPDX-License-Identifier: Apache-2.0
"""Decides what to do about the lease, from its record, when that was first seen, and the leadership we have."""

from __future__ import annotations

import enum

import attrs

from controller_runtime.election.record import LeaseRecord


@attrs.frozen
class Sighting:
    """The record of the lease, and when a look first found it.

    Attributes:
        record: The record in the lease; None if there is no lease.
        seen_at: Monotonic seconds of our own clock at which a look first found the record.
        vanished: Seconds for which a holder still counts whose lease is not there any more: a person may have deleted
            it, and the holder may have renewed it unseen until then.
    """

    record: LeaseRecord | None
    seen_at: float
    vanished: int = 0

    @property
    def expires_at(self) -> float:
        """Monotonic seconds from which other replicas may take the lease, unless its record changes before.

        The holder's deadline counts from before the holder wrote the record; `expires_at` counts from when we
        saw the record, which is later. So the holder has stopped by then, however wrong any wall clock is.
        """
        return self.seen_at + (self.record.duration if self.record is not None else self.vanished)

    def again(self, record: LeaseRecord | None, now: float) -> Sighting:
        """Return what is known after another look that ended at `now`: an unchanged record keeps its age."""
        if record == self.record:
            return self
        held = record is None and self.record is not None and self.record.holder != "" and now < self.expires_at
        return Sighting(record, now, self.record.duration if held and self.record is not None else 0)


@attrs.frozen
class Held:
    """A leadership of ours, at one moment.

    Attributes:
        token: Its fencing token, `leaseTransitions`.
        until: Monotonic seconds at which it ends unless it is renewed before.
    """

    token: int
    until: float


class Action(enum.Enum):
    """The next step of an elector."""

    CREATE = "create"
    """Create the lease, with us as its holder: it does not exist, and no holder can still believe that it has it."""

    TAKE = "take"
    """Update the lease to name us: it has no holder, or an expired one."""

    RENEW = "renew"
    """Update the lease: we lead."""

    WAIT = "wait"
    """Do nothing: another replica leads, or has to be elected."""

    LOST = "lost"
    """Stop: our leadership is over, and stays over."""

    YIELD = "yield"
    """End the work and renew no more: the coordinator prefers another candidate."""

    GIVE_BACK = "give back"
    """Clear the holder of the lease: it names us, but it is too late to begin under it."""


def decide(seen: Sighting, identity: str, held: Held | None, now: float) -> Action:
    """Return the next step of a replica in an election without a coordinator.

    A leader that finds any record but its own has lost the lease: another replica may have led in
    between, even if none does now. A replica that does not lead takes a record with its own name as if it
    were free, because a write whose answer was lost may have succeeded. Each leadership gets a new token.

    Args:
        seen: The last look at the lease.
        identity: Our holder identity.
        held: Our leadership; None if we have none.
        now: Monotonic seconds.
    """
    record = seen.record
    if held is not None:
        is_ours = record is not None and (record.holder, record.transitions) == (identity, held.token)
        return Action.RENEW if is_ours and now < held.until else Action.LOST
    if record is None:
        return Action.CREATE if seen.expires_at <= now else Action.WAIT
    is_free = record.holder in ("", identity) or seen.expires_at <= now
    return Action.TAKE if is_free else Action.WAIT


def decide_coordinated(seen: Sighting, identity: str, held: Held | None, now: float) -> Action:
    """Return the next step of a replica where a coordinator elects: that creates the lease and names its holder.

    A lease that names us but has expired before we began is given back: no other client renews it
    on our behalf, so it would keep naming us.

    Args:
        seen: As for `decide`.
        identity: As for `decide`.
        held: As for `decide`.
        now: As for `decide`.
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
    """Return whether, according to the last look at the lease, no replica leads."""
    return seen.record is None or not seen.record.holder or seen.expires_at <= now
