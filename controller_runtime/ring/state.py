# SPDX-License-Identifier: Apache-2.0
"""The states of a ring's member, each with the data that is valid only in it, and the changes between them."""

from __future__ import annotations

from typing import ClassVar

import attrs

from controller_runtime.election.term import Term
from controller_runtime.ring.records import Claim
from controller_runtime.ring.send_time import SendTime


@attrs.frozen
class New:
    """The server has stored no claim of this membership yet, so the member owns nothing.

    Attributes:
        claim: The claim to begin with. Its slots are those of an earlier membership with a write that may land yet.
    """

    claim: Claim
    text: ClassVar[str] = "new"
    claimed: ClassVar[int] = 0


@attrs.frozen
class Joined:
    """The state that a member and a leaving member have in common.

    Attributes:
        term: The deadline of the membership; it may have passed before the member's thread gets to run.
        claim: The claim that the server has stored, as far as the member knows.
        ready_at: Monotonic seconds from which the member may own slots.
        sent: When the last claim was sent that the server has stored.
        renew_at: Monotonic seconds from which the claim is written again, though it is the same.
        draining: The slots of the claim for which no more work begins.
        ring_uid: The uid of the published assignment that the member follows; empty for none.
    """

    term: Term
    claim: Claim
    ready_at: float
    sent: SendTime
    renew_at: float
    draining: int = 0
    ring_uid: str = ""

    @property
    def claimed(self) -> int:
        """The slots that it claims now: none once the deadline has passed."""
        return 0 if self.term.is_over() else self.claim.slots


@attrs.frozen
class Member(Joined):
    """The member renews its claim, gives slots to others, and takes others."""

    text: ClassVar[str] = "member"


@attrs.frozen
class Leaving(Joined):
    """The member stops: it takes no slot, and gives back those that it has as their work ends."""

    text: ClassVar[str] = "leaving"


@attrs.frozen
class Left:
    """`run` has ended, or is about to.

    Attributes:
        claim: The claim in which the member left.
    """

    claim: Claim
    text: ClassVar[str] = "left"
    claimed: ClassVar[int] = 0


State = New | Member | Leaving | Left

TRANSITIONS: frozenset[tuple[type[State], type[State]]] = frozenset(
    {
        (New, Member),  # the server has stored the first claim
        (New, Leaving),  # the same, while the program stops
        (New, Left),  # stopped before the server had a lease of ours
        (Member, Member),  # the server has stored a claim, or slots are drained
        (Member, Leaving),  # the program stops
        (Member, New),  # the deadline has passed, or the server has gone back
        (Leaving, Leaving),  # the server has stored a claim, or slots are drained
        (Leaving, New),  # as from Member
        (Leaving, Left),  # the server has stored that we leave with no slot
    }
)
"""Every change of state there is. The diagram in `docs/ring.md` shows the same, and a test compares them."""
