# SPDX-License-Identifier: Apache-2.0
"""Slots: the 256 parts into which a hash divides objects, and sets of slots as the bits of an integer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from apimachinery.shards import fnv1a64

SLOTS = 256
"""The number of slots of every ring. It is part of the protocol, and never changes."""
ALL = (1 << SLOTS) - 1
"""The set of all slots."""

_WORD = (1 << 64) - 1
_KEPT = 10_000
"""Names whose slots are remembered: a change and the reconcile that follows ask several times."""


def splitmix64(value: int) -> int:
    """Return a 64-bit hash of a 64-bit number, in which every input bit affects all output bits."""
    value = (value + 0x9E3779B97F4A7C15) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)


@lru_cache(_KEPT)
def slot_of_uid(uid: str) -> int:
    """Return the slot of an object by its uid: a contiguous range of the hash that API servers use for shards."""
    return fnv1a64(uid) >> 56


@lru_cache(_KEPT)
def slot_of_name(name: str) -> int:
    """Return the slot of a namespace, a key or an owner's uid.

    The hash is mixed, because the high bits of FNV-1a hardly depend on the last characters: two hundred tenants with
    numbered names would be in two slots.
    """
    return splitmix64(fnv1a64(name)) >> 56


def set_of(slots: Iterable[int]) -> int:
    """Return slots as a set: an integer with one bit for each slot."""
    found = 0
    for slot in slots:
        found |= 1 << slot
    return found


def slots_in(slots: int) -> Iterator[int]:
    """Yield the slots of a set (an integer of bits), in order."""
    while slots:
        lowest = slots & -slots
        yield lowest.bit_length() - 1
        slots ^= lowest


def count(slots: int) -> int:
    """Return the number of slots in a set."""
    return slots.bit_count()


def ranges_of(slots: int) -> list[tuple[int, int]]:
    """Return a set of slots as ranges, each with its first and last slot, in order."""
    ranges: list[tuple[int, int]] = []
    for slot in slots_in(slots):
        if ranges and ranges[-1][1] == slot - 1:
            ranges[-1] = (ranges[-1][0], slot)
        else:
            ranges.append((slot, slot))
    return ranges
