# SPDX-License-Identifier: Apache-2.0
"""Fencing tokens: what a store outside of the cluster compares to refuse the writes of an earlier owner."""

from __future__ import annotations

import attrs

from controller_runtime.ring.records import Assignment


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


def token_of(ring: Assignment, slot: int) -> RingToken:
    """Return the token of a slot and its owner by an assignment."""
    return RingToken(ring.uid, ring.incarnation, ring.since[slot])
