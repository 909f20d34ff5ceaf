# SPDX-License-Identifier: Apache-2.0
"""The observations and counts of a member of a ring, for metrics and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import attrs

from apimachinery.host import Host
from controller_runtime.core.counters import Histogram
from controller_runtime.ring.decision import Sighting
from controller_runtime.ring.slots import ALL, count, slots_in

GAPS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
"""The bounds of the buckets for gaps, in seconds. A hand-over takes up to two, and the slots of a dead member are free
after five to ten.
"""

TAKEN, GIVEN, LOST, BEHIND = "taken", "given", "lost", "behind"
"""The changes of slots that are counted: taken from another member, given to another one, or lost because the
membership was over. `BEHIND` counts taken slots for which a cache may not show the writes of their last owner, in a
ring that waits for those (`prepare`).
"""


@attrs.frozen
class RingCounts:
    """The current observations of a ring's member, and its counts so far.

    The ring divides all objects into 256 slots, and each slot has one owner among the members.

    Attributes:
        members: The number of slots that each live member claims, this one included.
        unclaimed: The number of slots that none of these members claims.
        turn_age: Seconds since the last successful update of the ring, or since the member was made.
        changes: How many slots this member has taken, given back and lost.
        gaps: For each slot that this member took from another one, the seconds since that one may last have owned it.
    """

    members: Mapping[str, int]
    unclaimed: int
    turn_age: float
    changes: Mapping[str, int]
    gaps: Histogram


class RingStatus:
    """Keeps the observations and counts of a member, for metrics.

    Args:
        host: The source of the time.
        identity: The identity of the member.
        renew_deadline: Seconds for which another member may own slots after its lease changed.
        claimed: Returns the slots that the member claims now; none once its membership is over.

    Attributes:
        waits_for: The member with another division for which this one waits; empty for none.
        has_had_a_turn: Whether an update of the ring has succeeded so far.

    Threads: any; only the member's thread changes it.
    """

    def __init__(self, host: Host, identity: str, renew_deadline: float, claimed: Callable[[], int]) -> None:
        self._host, self._identity, self._renew_deadline, self._claimed = host, identity, renew_deadline, claimed
        self.waits_for = ""  # replaced as a whole
        # Guards the fields below.
        self._lock = host.lock("ring status")
        self._others: tuple[Sighting, ...] = ()
        self._turn_at, self.has_had_a_turn = host.monotonic(), False
        self._changes = Counter({TAKEN: 0, GIVEN: 0, LOST: 0, BEHIND: 0})
        self._ours = 0  # slots that were taken, and neither given nor lost since
        self._gaps = Histogram(GAPS)
        # When each slot may have been another member's, as far as a look showed it.
        self._others_at: dict[int, float] = {}

    def looked(self, others: Iterable[Sighting], now: float) -> None:
        """Record the members that a successful update of the ring has read."""
        others = tuple(others)
        seen: dict[int, float] = {}
        for other in others:
            if now < other.expires_at:
                may_own_at = min(now, other.seen_at + self._renew_deadline)
                seen |= dict.fromkeys(slots_in(other.claim.slots), may_own_at)
        with self._lock:
            self._others, self._turn_at, self.has_had_a_turn = others, now, True
            self._others_at |= seen

    def stored(self, claimed: int, owned: int) -> None:
        """Count the slots that were taken and given back since the last call, by the claim that the server has stored.

        Slots that a replica which has joined again claims only for work of its earlier membership count as neither:
        `lost` has counted them.

        Args:
            claimed: The slots of the claim, as bits.
            owned: The slots of the claim for which work may begin, as bits.
        """
        now = self._host.monotonic()
        with self._lock:
            taken, given = owned & ~self._ours, self._ours & ~claimed
            self._ours = (self._ours & claimed) | owned
            self._changes[TAKEN] += count(taken)
            self._changes[GIVEN] += count(given)
            for slot in slots_in(taken | given):
                since = self._others_at.pop(slot, None)
                if taken >> slot & 1 and since is not None:
                    self._gaps.observe(now - since)

    def lost(self) -> None:
        """Count all slots of this member as lost, because its membership is over."""
        with self._lock:
            self._changes[LOST] += count(self._ours)
            for slot in slots_in(self._ours):
                self._others_at.pop(slot, None)
            self._ours = 0

    def has_successor(self, division: str) -> bool:
        """Return whether another live member with this division is ready to own slots.

        Its claim is that of the last successful update; a member that has expired since then does not count.
        """
        now = self._host.monotonic()
        with self._lock:
            others = [other for other in self._others if now < other.expires_at]
        return any(other.claim.is_ready and other.claim.division == division for other in others)

    def behind(self, slots: int) -> None:
        """Count slots that were taken although a cache may not show the writes of their last owner."""
        with self._lock:
            self._changes[BEHIND] += count(slots)

    @property
    def waiting(self) -> str:
        """Why the member waits for one with another division, in one line; empty if it does not wait."""
        if not self.waits_for:
            return ""
        return f"waits for {self.waits_for}, which is of another program or version, or divides the objects otherwise"

    def counts(self) -> RingCounts:
        """Return the current observations and counts.

        Claims of others count until they expire, even if updates fail.
        """
        now, claimed = self._host.monotonic(), self._claimed()
        with self._lock:
            others, age, changes, gaps = self._others, now - self._turn_at, dict(self._changes), self._gaps.copy()
        members = {self._identity: count(claimed)}
        for other in others:
            if now < other.expires_at:
                members[other.member] = count(other.claim.slots)
                claimed |= other.claim.slots
        return RingCounts(members, count(ALL & ~claimed), age, changes, gaps)
