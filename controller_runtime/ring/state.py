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
    """The state of a member whose first claim the server has not stored yet, so it owns nothing.

    Attributes:
        claim: The claim to begin with. Its slots are those of an earlier membership for which a write may still reach
            the server.
    """

    claim: Claim
    text: ClassVar[str] = "new"
    claimed: ClassVar[int] = 0


@attrs.frozen
class Joined:
    """The common state of `Member` and `Leaving`.

    Attributes:
        term: The membership with its deadline, which may have passed before the member's thread runs again.
        claim: The claim that the server has stored, as far as the member knows.
        ready_at: The time from which the member may own slots, in monotonic seconds.
        sent: When the last stored claim was sent.
        renew_at: The time at which the claim is written again even if it is unchanged, in monotonic seconds.
        draining: The slots of the claim for which no new work begins.
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
        """The slots that the member owns or still works for: none once the deadline has passed."""
        return 0 if self.term.is_over() else self.claim.slots


@attrs.frozen
class Member(Joined):
    """The state of a member that renews its claim, gives slots to others, and takes others."""

    text: ClassVar[str] = "member"


@attrs.frozen
class Leaving(Joined):
    """The state of a stopping member, which takes no slots, and gives its slots back as their work ends."""

    text: ClassVar[str] = "leaving"


@attrs.frozen
class Left:
    """The state of a member that has stopped: `run` has ended, or is about to.

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
