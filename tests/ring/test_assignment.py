# SPDX-License-Identifier: Apache-2.0
"""The assignment of slots: fair by weight, and each change of the members moves as few slots as it can."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.ring.assignment import NOBODY, assigned, quotas_of
from controller_runtime.ring.slots import SLOTS

pytestmark = pytest.mark.ends

NONE = (NOBODY,) * SLOTS
NAMES = st.sampled_from("abcdefghij")
EQUAL = st.sets(NAMES, min_size=1).map(lambda names: dict.fromkeys(names, 1))
WEIGHTED = st.dictionaries(NAMES, st.integers(1, 9), min_size=1)


def moved(before: tuple[str, ...], after: tuple[str, ...]) -> int:
    return sum(old != new for old, new in zip(before, after, strict=True))


@given(WEIGHTED, WEIGHTED)
def test_each_slot_has_one_of_the_members_by_its_quota(first: dict[str, int], second: dict[str, int]) -> None:
    before = assigned(first, NONE)
    after = assigned(second, before)

    loads = Counter(after)
    assert loads.keys() <= second.keys()
    total = sum(second.values())
    for member, weight in second.items():
        assert abs(loads[member] - SLOTS * weight / total) < 1


@given(EQUAL, EQUAL)
def test_equal_members_differ_by_one_slot_and_a_change_moves_the_fewest(
    first: dict[str, int], second: dict[str, int]
) -> None:
    before = assigned(first, NONE)
    after = assigned(second, before)

    loads, held = Counter(after), Counter(owner for owner in before if owner in second)
    assert max(loads[name] for name in second) - min(loads[name] for name in second) <= 1
    # No assignment with loads that differ by one at most keeps more: of each member up to the larger load, of as many
    # members as may have it.
    low, more = divmod(SLOTS, len(second))
    kept = sorted((min(held[name], low + 1) - min(held[name], low) for name in second), reverse=True)
    assert SLOTS - moved(before, after) == sum(min(held[name], low) for name in second) + sum(kept[:more])


@given(WEIGHTED)
def test_nothing_moves_while_the_members_stay(members: dict[str, int]) -> None:
    before = assigned(members, NONE)

    assert assigned(members, before) == before


@given(WEIGHTED, st.lists(st.sampled_from(["a", "b", "gone", ""]), min_size=SLOTS, max_size=SLOTS))
def test_the_order_of_the_members_does_not_matter(members: dict[str, int], previous: list[str]) -> None:
    assert assigned(dict(reversed(members.items())), previous) == assigned(members, previous)


def test_without_members_nobody_owns_anything() -> None:
    assert assigned({}, ["a"] * SLOTS) == NONE


def test_of_equal_claims_to_one_more_slot_that_of_the_member_with_more_counts() -> None:
    assert quotas_of({"a": 1, "b": 1, "c": 1}, {"a": 85, "b": 85, "c": 86}) == {"a": 85, "b": 85, "c": 86}
