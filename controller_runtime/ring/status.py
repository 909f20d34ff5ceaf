# SPDX-License-Identifier: Apache-2.0
"""The observations and counts of a member of a ring, for metrics and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

from apimachinery.host import Host
from controller_runtime.core.counters import Histogram
from controller_runtime.ring.decision import Sighting
from controller_runtime.ring.records import Claim
from controller_runtime.ring.slots import ALL, SLOTS, count, slots_in

GAPS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
"""Bounds of the buckets for gaps: a hand-over takes up to two, a dead member's slots are free after five to ten."""

TAKEN, GIVEN, LOST, BEHIND = "taken", "given", "lost", "behind"
"""How the slots of a member change: another's became ours, ours another's, our membership was over, or slots were taken
with a cache that may not show the writes of their last owner, in a ring that waits for those (`prepare`)."""


@attrs.frozen
class RingCounts:
    """The observations of a member at its last turn, and its counts until now.

    Attributes:
        members: The number of slots that each member claims which counts as alive, this one included.
        unclaimed: Slots that none of them claims.
        changes: How many slots it has taken, given back and lost.
        gaps: For each slot that it took, the seconds since another member may have owned it; no entry if none was seen.
    """

    members: Mapping[str, int]
    unclaimed: int
    changes: Mapping[str, int]
    gaps: Histogram


class RingStatus:
    """Remembers what a member has seen and done.

    Args:
        host: Its clock measures gaps.
        identity: The member.
        renew_deadline: Seconds for which another member may own slots after its lease changed.

    Attributes:
        waits_for: A member of another division, for which this one waits; empty while it waits for none.

    Threads: any; the member's alone changes it.
    """

    def __init__(self, host: Host, identity: str, renew_deadline: float) -> None:
        self._host, self._identity, self._renew_deadline = host, identity, renew_deadline
        self.waits_for = ""  # replaced as a whole
        # Guards the fields below.
        self._lock = host.lock("ring status")
        self._members: dict[str, int] = {}
        self._unclaimed = SLOTS
        self._changes = Counter({TAKEN: 0, GIVEN: 0, LOST: 0, BEHIND: 0})
        self._gaps = Histogram(GAPS)
        # When each slot may have been another member's, as far as a look showed it.
        self._others_at: dict[int, float] = {}

    def looked(self, own: Claim, others: Iterable[Sighting], now: float) -> None:
        """Note what a turn has read."""
        members, claimed = {self._identity: count(own.slots)}, own.slots
        seen: dict[int, float] = {}
        for other in others:
            if now < other.expires_at:
                members[other.member] = count(other.claim.slots)
                claimed |= other.claim.slots
                may_own_at = min(now, other.seen_at + self._renew_deadline)
                seen |= dict.fromkeys(slots_in(other.claim.slots), may_own_at)
        with self._lock:
            self._members, self._unclaimed = members, count(ALL & ~claimed)
            self._others_at |= seen

    def changed(self, how: str, slots: int) -> None:
        """Count slots that were `TAKEN`, `GIVEN`, `LOST` or taken `BEHIND` now."""
        now = self._host.monotonic()
        with self._lock:
            self._changes[how] += count(slots)
            for slot in slots_in(slots if how != BEHIND else 0):
                since = self._others_at.pop(slot, None)
                if how == TAKEN and since is not None:
                    self._gaps.observe(now - since)

    @property
    def waiting(self) -> str:
        """Say in one line why the member does not work, if others divide otherwise; empty if it need not wait."""
        if not self.waits_for:
            return ""
        return f"waits for {self.waits_for}, which is of another program or version, or divides the objects otherwise"

    def counts(self) -> RingCounts:
        """Return a snapshot."""
        with self._lock:
            return RingCounts(dict(self._members), self._unclaimed, dict(self._changes), self._gaps.copy())
