# SPDX-License-Identifier: Apache-2.0
"""Slots: the hashes of the protocol, and sets of slots."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.shards import fnv1a64
from controller_runtime.ring.slots import (
    SLOTS,
    count,
    ranges_of,
    set_of,
    slot_of_name,
    slot_of_uid,
    slots_in,
    splitmix64,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)],
    ids=["nothing", "a letter", "a word"],
)
def test_the_hash_is_fnv_1a_of_64_bits(text: str, value: int) -> None:
    assert fnv1a64(text) == value


def test_the_mixture_is_splitmix64() -> None:
    assert [splitmix64(0), splitmix64(0x9E3779B97F4A7C15)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_numbered_names_share_two_slots_of_the_plain_hash_and_are_spread_by_the_mixture() -> None:
    tenants = [f"tenant-{number:03d}" for number in range(200)]

    assert len({fnv1a64(tenant) >> 56 for tenant in tenants}) == 2
    assert len({slot_of_name(tenant) for tenant in tenants}) > 120


def test_a_slot_of_a_uid_is_a_contiguous_range_of_the_hash() -> None:
    uid = "11111111-1111-1111-1111-111111111111"

    assert slot_of_uid(uid) << 56 <= fnv1a64(uid) < (slot_of_uid(uid) + 1) << 56


@given(st.sets(st.integers(0, SLOTS - 1)))
def test_a_set_has_its_slots_in_order_and_as_ranges(slots: set[int]) -> None:
    found = set_of(slots)

    assert [*slots_in(found)] == sorted(slots)
    assert count(found) == len(slots)
    ranges = ranges_of(found)
    assert {slot for low, high in ranges for slot in range(low, high + 1)} == slots
    assert all(low > high + 1 for (_, high), (low, _) in itertools.pairwise(ranges))
