# SPDX-License-Identifier: Apache-2.0
"""Zones and the line of those who wait for their eviction, without a cluster."""

from __future__ import annotations

from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from controllers.node_lifecycle.zones import Turns, ZonePolicy, ZoneState


@pytest.mark.scenario("NL-06")
@pytest.mark.parametrize(
    ("ready", "not_ready", "state"),
    [
        pytest.param(2, 3, ZoneState.PARTIAL, id="3 of 5"),
        pytest.param(1, 2, ZoneState.NORMAL, id="2 of 3"),
        pytest.param(0, 4, ZoneState.FULL, id="4 of 4"),
        pytest.param(0, 1, ZoneState.FULL, id="1 of 1"),
        pytest.param(9, 11, ZoneState.PARTIAL, id="the threshold itself"),
        pytest.param(10, 11, ZoneState.NORMAL, id="below the threshold"),
        pytest.param(0, 0, ZoneState.NORMAL, id="nobody"),
    ],
)
def test_the_state_of_a_zone(ready: int, not_ready: int, state: ZoneState) -> None:
    """Partial from 55 % and three nodes on, full when nobody is ready, else normal."""
    assert ZonePolicy().state(ready, not_ready) is state


@pytest.mark.parametrize(
    ("state", "size", "rate"),
    [
        pytest.param(ZoneState.NORMAL, 1000, 0.1, id="normal"),
        pytest.param(ZoneState.FULL, 3, 0.1, id="full"),
        pytest.param(ZoneState.PARTIAL, 50, 0.0, id="partial and small"),
        pytest.param(ZoneState.PARTIAL, 51, 0.01, id="partial and large"),
    ],
)
def test_the_rate_of_a_zone(state: ZoneState, size: int, rate: float) -> None:
    assert ZonePolicy().rate_of(state, size) == rate


@pytest.mark.parametrize("bad", [{"rate": -0.1}, {"secondary_rate": -1.0}, {"large": -1}, {"threshold": 1.1}])
def test_a_policy_that_makes_no_sense_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        ZonePolicy(**bad)  # type: ignore[arg-type]


def test_a_policy_may_evict_nobody_at_all() -> None:
    policy = ZonePolicy(rate=0.0, secondary_rate=0.0, large=0, threshold=0.0)

    assert [policy.rate_of(state, 1) for state in ZoneState] == [0.0] * len(ZoneState)
    assert policy.state(1, 3) is ZoneState.PARTIAL


def test_a_zone_may_count_as_disrupted_only_if_all_of_it_is() -> None:
    assert ZonePolicy(threshold=1.0).state(1, 99) is ZoneState.NORMAL


def served(turns: Turns, now: float) -> list[str]:
    """Who gets a turn at `now`, if all ask."""
    found = [name for name in turns.waiting if turns.ask(name, now) == 0.0]
    for name in found:
        turns.take(name, now)
    return found


@pytest.mark.scenario("NL-09")
def test_the_line_is_first_come_first_served_and_knows_each_once() -> None:
    """Who asks again keeps his place, and is told when he may come."""
    turns = Turns(0.1, 0.0)

    assert [turns.ask(name, 0.0) for name in "abca"] == [0.0, 10.0, 20.0, 0.0]
    assert turns.waiting == ["a", "b", "c"]
    assert [served(turns, now) for now in (0.0, 5.0, 10.0, 20.0, 30.0)] == [["a"], [], ["b"], ["c"], []]


@pytest.mark.scenario("NL-09")
def test_whoever_leaves_the_line_makes_room() -> None:
    """One who left is not served, whoever was behind him comes in his place, and who comes back is the last."""
    turns = Turns(0.1, 0.0)
    for name in "abc":
        turns.ask(name, 0.0)

    assert turns.leave("a")
    assert not turns.leave("c")
    turns.ask("a", 1.0)

    assert [served(turns, now) for now in (1.0, 11.0)] == [["b"], ["a"]]


@pytest.mark.scenario("NL-09")
def test_a_turn_that_could_not_be_used_is_kept_until_he_leaves() -> None:
    """One whose write failed asks again and goes at once; after he left he waits like everybody."""
    turns = Turns(0.1, 0.0)
    turns.ask("a", 0.0)
    turns.take("a", 0.0)

    assert turns.ask("a", 1.0) == 0.0
    turns.leave("a")

    assert turns.ask("a", 1.0) == pytest.approx(9.0)


@pytest.mark.scenario("NL-09")
def test_a_change_of_rate_makes_nobody_a_gift() -> None:
    """Who could go can still; a turn that was spent is not given again, and from zero the line starts empty."""
    fresh, spent, stopped = (Turns(0.1, 0.0) for _ in range(3))
    spent.ask("a", 0.0)
    spent.take("a", 0.0)
    fresh.set_rate(0.01, 5.0)
    spent.set_rate(0.01, 5.0)
    stopped.set_rate(0.0, 5.0)

    assert fresh.ask("b", 5.0) == 0.0
    assert spent.ask("b", 5.0) == pytest.approx(100.0)
    assert stopped.ask("b", 5.0) is None
    stopped.set_rate(0.1, 6.0)
    assert stopped.ask("b", 6.0) == pytest.approx(10.0)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["ask", "leave"]), st.floats(0, 30)), max_size=40))
def test_never_more_turns_than_the_rate_allows(acts: list[tuple[str, str, float]]) -> None:
    turns, now, held, given_at = Turns(0.1, 0.0), 0.0, set[str](), list[float]()

    for name, act, pause in acts:
        now += pause
        if act == "leave":
            turns.leave(name)
            held.discard(name)
        elif name not in held and turns.ask(name, now) == 0.0:
            turns.take(name, now)
            held.add(name)
            given_at.append(now)

    assert all(later - sooner >= 10.0 - 1e-3 for sooner, later in pairwise(given_at))
