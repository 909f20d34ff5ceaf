# SPDX-License-Identifier: Apache-2.0
"""When the simulation says that a slot has had no owner for too long: with the publisher alive, and lost too."""

from __future__ import annotations

import pytest
from kit.fault_runs.invariants import Violated
from kit.fault_runs.ring_liveness import Bounds, Liveness

from controller_runtime.ring.slots import ALL

BOUNDS = Bounds(owned=8.0, elected=7.0, given=2.0, handed_over=5.0, joined=1.5)
OF_C = 0b111
"""The slots of the member `c`, which is lost at 100 s in each of the cases."""

Look = tuple[float, str]
"""Seconds, and the members that are up."""


def first_violation(looks: list[Look], *, ready: str = "abcd", step: float = 0.1) -> float | None:
    """Return the time of the first violation if the slots of `c` never come back; None if there is none in a minute."""
    liveness = Liveness(BOUNDS)
    liveness.look(0.0, frozenset("abcd"), frozenset("abcd"), ALL)
    up, to_come = "abcd", [(100.0, "abd"), *looks]
    for tenths in range(990, 1600):
        now = tenths * step
        while to_come and to_come[0][0] <= now:
            up = to_come.pop(0)[1]
        held = ALL & ~OF_C if now >= 100.0 else ALL
        try:
            liveness.look(now, frozenset(up), frozenset(ready), held)
        except Violated:
            return round(now, 1)
    return None


@pytest.mark.parametrize(
    ("looks", "at"),
    [
        pytest.param([], 108.1, id="the publisher is alive"),
        pytest.param([(100.0, "bd")], 108.1, id="the publisher is lost at the same time: its lease ends as early"),
        pytest.param([(102.0, "bd")], 110.1, id="the publisher is lost soon after: from then on, as with one alive"),
        pytest.param([(107.5, "bd")], 115.1, id="the publisher is lost late: its election in addition, and no more"),
        pytest.param([(103.0, "bd"), (106.0, "d")], 114.1, id="two publishers are lost: from the second on"),
        pytest.param([(104.0, "ab")], 112.1, id="another member is lost, whose lease must end first"),
        pytest.param([(105.0, "abcd")], 108.1, id="a member that comes back starts nothing over"),
        pytest.param([(104.0, ""), (109.0, "abd")], 117.1, id="the server was away"),
    ],
)
def test_a_slot_needs_an_owner_in_time(looks: list[Look], at: float) -> None:
    assert first_violation(looks) == at


def test_the_time_begins_again_with_the_first_member_if_none_there_may_own_slots() -> None:
    assert first_violation([(105.0, "abd")], ready="") == 108.1
    assert first_violation([(105.0, "abcd")], ready="") == 113.1


def test_effects_to_come_count_although_the_publisher_is_lost_before_their_end() -> None:
    liveness = Liveness(BOUNDS)
    liveness.look(0.0, frozenset("abc"), frozenset("abc"), ALL)
    liveness.look(100.0, frozenset("ab"), frozenset("abc"), ALL & ~OF_C)
    liveness.disturbed(120.0)
    liveness.look(101.0, frozenset("b"), frozenset("abc"), ALL & ~OF_C)

    liveness.look(127.9, frozenset("b"), frozenset("abc"), ALL & ~OF_C)
    with pytest.raises(Violated):
        liveness.look(128.1, frozenset("b"), frozenset("abc"), ALL & ~OF_C)


def test_without_anybody_nothing_is_late() -> None:
    assert first_violation([(101.0, "")]) is None


def test_members_that_become_ready_move_slots_and_so_have_two_periods_more() -> None:
    liveness = Liveness(BOUNDS)
    liveness.look(0.0, frozenset("ab"), frozenset("ab"), ALL)
    liveness.look(100.0, frozenset("a"), frozenset("ab"), OF_C)
    liveness.ready_changed(107.0)

    liveness.look(108.5, frozenset("a"), frozenset("ab"), OF_C)
    with pytest.raises(Violated):
        liveness.look(109.1, frozenset("a"), frozenset("ab"), OF_C)


def test_slots_between_two_living_members_have_the_time_of_a_hand_over() -> None:
    liveness = Liveness(BOUNDS)
    liveness.look(0.0, frozenset("ab"), frozenset("ab"), ALL)

    liveness.look(100.0, frozenset("ab"), frozenset("ab"), OF_C)
    liveness.look(104.9, frozenset("ab"), frozenset("ab"), OF_C)
    with pytest.raises(Violated):
        liveness.look(105.1, frozenset("ab"), frozenset("ab"), OF_C)


def test_while_no_slot_has_an_owner_members_that_join_are_waited_for_and_then_all_have_theirs_at_once() -> None:
    def violated_at(first_held: float) -> float | None:
        liveness = Liveness(BOUNDS)
        for tenths in range(1600):
            now = tenths / 10
            held = 0 if now < first_held else ALL & ~OF_C
            try:
                liveness.look(now, frozenset("abc"), frozenset("abc"), held)
            except Violated:
                return now
        return None

    assert violated_at(first_held=100.0) == 9.6
    assert violated_at(first_held=9.0) == 11.0
    assert violated_at(first_held=4.0) == 8.1
