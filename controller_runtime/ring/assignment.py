# SPDX-License-Identifier: Apache-2.0
"""The assignment of slots to members: a pure function of the members and of the assignment before.

Members own slots in proportion to their weights. Each keeps what it has up to its quota, and the rest goes to those
that are below theirs, so a change of the members moves as few slots as their quotas allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from apimachinery.shards import fnv1a64
from controller_runtime.ring.slots import SLOTS, splitmix64

NOBODY = ""
"""The name that stands for the owner of a slot without an owner."""


def assigned(members: Mapping[str, int], previous: Sequence[str]) -> tuple[str, ...]:
    """Return the new owner of each slot, as a tuple with one member name for each slot.

    Args:
        members: The weight of each member, at least 1. Without members all slots belong to `NOBODY`.
        previous: The previous owner of each slot; a name that is not a member counts as no owner.
    """
    if not members:
        return (NOBODY,) * SLOTS
    held = _held(members, previous)
    quotas = quotas_of(members, {member: len(slots) for member, slots in held.items()})
    owners = [NOBODY] * SLOTS
    for member, slots in held.items():
        # Of those above its quota it gives up the ones that belong to it least, so each member computes the same.
        for slot in sorted(slots, key=lambda slot: _score(member, slot), reverse=True)[: quotas[member]]:
            owners[slot] = member
    room = {member: quotas[member] - min(quotas[member], len(held[member])) for member in members}
    free = [slot for slot in range(SLOTS) if not owners[slot]]
    wishes = sorted((_score(member, slot), slot, member) for slot in free for member in room if room[member])
    while wishes:
        _, slot, member = wishes.pop()
        if not owners[slot] and room[member]:
            owners[slot] = member
            room[member] -= 1
    return tuple(owners)


def quotas_of(members: Mapping[str, int], held: Mapping[str, int]) -> dict[str, int]:
    """Return how many slots each member should own: in proportion to its weight, rounded so that the sum is all slots.

    Args:
        members: The weight of each member; not empty.
        held: The number of slots that each member owns now. If rounding leaves a slot to which several members are
            equally entitled, the one that owns more beyond its share (rounded down) gets it, then the first by
            name.
    """
    total = sum(members.values())
    quotas = {member: SLOTS * weight // total for member, weight in members.items()}
    rest = SLOTS - sum(quotas.values())

    def claim(member: str) -> tuple[int, int, str]:
        return -(SLOTS * members[member] % total), quotas[member] - held.get(member, 0), member

    first = sorted(members, key=claim)
    for member in first[:rest]:
        quotas[member] += 1
    return quotas


def _held(members: Mapping[str, int], previous: Sequence[str]) -> dict[str, list[int]]:
    held: dict[str, list[int]] = {member: [] for member in sorted(members)}
    for slot, owner in enumerate(previous):
        if owner in held:
            held[owner].append(slot)
    return held


@lru_cache(maxsize=SLOTS * 64)
def _score(member: str, slot: int) -> int:
    """Return how much a slot belongs to a member: rendezvous hashing, so that each member has an order of its own."""
    return splitmix64(fnv1a64(f"{member}/{slot}"))
