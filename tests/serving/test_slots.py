# SPDX-License-Identifier: Apache-2.0
"""Slots: how many connections there may be, which of them makes way for another, and when."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies

from controller_runtime.serving.slots import ConnectionSlots


def full(**since: float) -> ConnectionSlots[str]:
    """Return slots that are all taken, by connections that wait since these seconds."""
    slots = ConnectionSlots[str](len(since), 10.0)
    for name, now in since.items():
        slots.take(name, now)
    return slots


def test_the_connection_that_has_waited_longest_makes_way() -> None:
    slots = full(a=2.0, b=1.0, c=3.0)

    assert [slots.take(name, 4.0) for name in ("d", "e", "f")] == ["b", "a", "c"]
    assert {*slots} == {"d", "e", "f"}


def test_a_connection_of_a_higher_rank_makes_way_after_all_others() -> None:
    slots = full(a=1.0, b=2.0)
    slots.wait("a", 1.0, rank=1)

    assert [slots.take(name, 3.0) for name in ("c", "d")] == ["b", "c"]


def test_a_connection_that_is_held_makes_no_way_and_the_new_one_has_no_slot() -> None:
    slots = full(a=1.0)
    slots.hold("a")

    assert slots.take("b", 2.0) == "b"
    assert [*slots] == ["a"]
    slots.wait("a", 3.0)
    assert slots.take("b", 4.0) == "a"


def test_a_connection_that_has_lost_its_slot_gets_it_back_by_no_note() -> None:
    slots = full(a=1.0)
    slots.take("b", 2.0)
    slots.wait("a", 3.0)
    slots.hold("a")
    slots.give_back("a")

    assert [*slots] == ["b"]


@pytest.mark.parametrize(("now", "wait"), [(1.0, 10.0), (6.0, 5.0), (11.0, 0.0), (20.0, 0.0)])
def test_another_one_waits_for_the_grace_of_the_oldest(now: float, wait: float) -> None:
    assert full(a=1.0, b=5.0).wait_for_one(now) == wait


def test_a_free_slot_is_there_at_once() -> None:
    slots = full(a=1.0, b=1.0)
    slots.give_back("a")

    assert slots.wait_for_one(1.0) == 0.0
    assert slots.take("c", 1.0) is None


STEPS = strategies.lists(
    strategies.tuples(strategies.sampled_from(("take", "wait", "hold", "give_back")), strategies.integers(0, 6))
)


@given(STEPS)
def test_there_are_never_more_than_there_may_be_and_held_ones_stay(steps: list[tuple[str, int]]) -> None:
    slots, held = ConnectionSlots[int](3), set[int]()
    for now, (act, key) in enumerate(steps):
        if act == "take" and key not in slots:
            slots.take(key, float(now))
        elif act == "wait":
            slots.wait(key, float(now))
            held.discard(key)
        elif act == "hold":
            slots.hold(key)
            held |= {key} & {*slots}
        elif act == "give_back":
            slots.give_back(key)
            held.discard(key)

        assert len(slots) <= 3
        assert held <= {*slots}
