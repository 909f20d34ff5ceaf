# SPDX-License-Identifier: Apache-2.0
"""Fencing tokens: what a store outside of the cluster compares to refuse the writes of an earlier owner."""

from __future__ import annotations

import attrs

from controller_runtime.core.host import Host
from controller_runtime.ring.records import Assignment
from controller_runtime.ring.slots import slots_in


@attrs.frozen
class RingToken:
    """The fencing token of a slot and its owner, from `Ring.token`.

    Of two owners of a slot, the later one has the greater `order`. So a store outside of the cluster that keeps the
    greatest order for each key, and refuses a write with a smaller one, is never changed by an owner that was followed
    by another, however late its write arrives.

    Attributes:
        ring: The uid of the object with the assignment.
        incarnation: The incarnation of the server, as its members know it: the wall clock's seconds, or a higher
            number, at which the object was made, or the first assignment written after a member saw the server go back
            to a backup.
        epoch: The number of the assignment that gave the slot to its owner.
    """

    ring: str
    incarnation: int
    epoch: int

    @property
    def order(self) -> tuple[int, int]:
        """The numbers to compare; also between two objects of a ring, because a new one has a later incarnation."""
        return self.incarnation, self.epoch

    def __str__(self) -> str:
        return f"{self.ring}/{self.incarnation}/{self.epoch}"


class Tokens:
    """The tokens of the slots that a member has.

    Args:
        host: Its lock.
        identity: The member.

    Threads: any; the member alone calls `follow`.
    """

    def __init__(self, host: Host, identity: str) -> None:
        # Guards the field below.
        self._lock = host.lock("tokens of a ring")
        self._of: dict[int, RingToken] = {}
        self._identity = identity
        self._followed: Assignment | None = None

    def follow(self, assignment: Assignment | None) -> None:
        """Note an assignment. A slot that it gives to another member keeps its token while work for it is in hand."""
        if assignment is None or assignment is self._followed:
            return
        self._followed = assignment
        uid, incarnation = assignment.uid, assignment.incarnation
        mine = slots_in(assignment.slots_of(self._identity))
        found = {slot: RingToken(uid, incarnation, assignment.since[slot]) for slot in mine}
        with self._lock:
            self._of |= found

    def of(self, slot: int) -> RingToken | None:
        """Return the token of a slot that is the member's, or was the last time; None if it never was."""
        with self._lock:
            return self._of.get(slot)
