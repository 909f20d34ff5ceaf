# SPDX-License-Identifier: Apache-2.0
"""Fencing tokens: numbers by which a store outside of the cluster refuses the writes of a former owner."""

from __future__ import annotations

import attrs

from controller_runtime.ring.records import Assignment


@attrs.frozen
class RingToken:
    """The fencing token of the replica that works for a part (slot) of the objects, from `Ring.token`.

    A later owner of a slot has a greater `order`. So a store outside of the cluster can keep the greatest order for
    each key, and refuse writes with a smaller one: then a former owner never changes it, however late its write
    arrives.

    Attributes:
        ring: The uid of the ring's ConfigMap.
        incarnation: A number that grows when the ConfigMap is made again, or a member sees that the server's data went
            back to a backup. It is based on the wall clock's seconds.
        epoch: The number of the assignment that gave the slot to its owner.
    """

    ring: str
    incarnation: int
    epoch: int

    @property
    def order(self) -> tuple[int, int]:
        """The numbers by which to compare two tokens: that of a later owner is greater.

        They also order the tokens of two ConfigMaps of a ring, because a new one has a greater incarnation.
        """
        return self.incarnation, self.epoch

    def __str__(self) -> str:
        return f"{self.ring}/{self.incarnation}/{self.epoch}"


def token_of(ring: Assignment, slot: int) -> RingToken:
    """Return the token of a slot's owner in an assignment."""
    return RingToken(ring.uid, ring.incarnation, ring.since[slot])
