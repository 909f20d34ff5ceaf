# SPDX-License-Identifier: Apache-2.0
"""What to do about the lease: decided from what it said, when that was first seen, and what we hold."""

from __future__ import annotations

import enum

import attrs

from controller_runtime.election.record import LeaseRecord


@attrs.frozen
class Sighting:
    """What the lease said, and since when we know.

    Attributes:
        record: What it said; None if there is no lease.
        seen_at: Monotonic seconds of our own clock when we first saw it say so.
    """

    record: LeaseRecord | None
    seen_at: float

    @property
    def expires_at(self) -> float:
        """When others may take the lease, unless it changes before.

        The holder wrote it before we saw it and counts from then, so it has given up by
        now: however wrong anybody's wall clock is, and however old the record looks.
        """
        return self.seen_at + (self.record.duration if self.record is not None else 0)

    def again(self, record: LeaseRecord | None, now: float) -> Sighting:
        """What we know after another look, which ended at `now`: an unchanged record ages."""
        return self if record == self.record else Sighting(record, now)


@attrs.frozen
class Held:
    """A leadership of ours.

    Attributes:
        token: Its fencing token, `leaseTransitions`.
        until: Monotonic seconds at which it ends unless it is renewed before.
    """

    token: int
    until: float


class Step(enum.Enum):
    """What to do next."""

    CREATE = "create"
    """There is no lease: make one that names us."""

    TAKE = "take"
    """Nobody holds it: write our name into it."""

    RENEW = "renew"
    """We lead: say so again."""

    WAIT = "wait"
    """Somebody else leads, as far as we know."""

    LOST = "lost"
    """We led; it is over, and stays so."""

    YIELD = "yield"
    """We lead and shall give way: end the work, renew no more."""

    GIVE_BACK = "give back"
    """It names us, and we may not begin under it any more: blank it."""


def decide(seen: Sighting, identity: str, held: Held | None, now: float) -> Step:
    """The next step.

    Who leads and finds anything but its own record has lost: another may have led in
    between, even if nobody does now. Who does not lead takes a record of its own name like a
    free one, because an answer that never came may have been a success; each
    leadership gets a token of its own.

    Args:
        seen: What the lease said last.
        identity: Ours.
        held: The leadership we have; None if we have none.
        now: Monotonic seconds.
    """
    record = seen.record
    if held is not None:
        is_ours = record is not None and (record.holder, record.transitions) == (identity, held.token)
        return Step.RENEW if is_ours and now < held.until else Step.LOST
    if record is None:
        return Step.CREATE
    is_free = record.holder in ("", identity) or seen.expires_at <= now
    return Step.TAKE if is_free else Step.WAIT


def decide_coordinated(seen: Sighting, identity: str, held: Held | None, now: float) -> Step:
    """The next step where somebody else elects: it makes the lease and names the holder, who then renews it.

    A lease that names us and was not begun in time is given back: nobody else renews it on our
    behalf, so it would stay as it is.

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
            return Step.LOST
        return Step.YIELD if record is not None and record.preferred else Step.RENEW
    if record is None or record.holder != identity:
        return Step.WAIT
    return Step.GIVE_BACK if record.preferred or seen.expires_at < now else Step.TAKE


def is_vacant(seen: Sighting, now: float) -> bool:
    """Whether nobody leads, as far as we know."""
    return seen.record is None or not seen.record.holder or seen.expires_at <= now
