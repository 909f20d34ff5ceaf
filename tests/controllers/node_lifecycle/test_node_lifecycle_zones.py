# SPDX-License-Identifier: Apache-2.0
"""The states and rates of zones, without a cluster."""

from __future__ import annotations

import pytest

from controllers.node_lifecycle.zones import ZonePolicy, Zones, ZoneState


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
    """A zone is partially disrupted from 55 % and three nodes on, fully when none is ready, otherwise normal."""
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


def zones_of(*states: tuple[int, int]) -> Zones:
    """Return zones x, y, … with these numbers of ready and other nodes, judged at 0 s."""
    zones = Zones(ZonePolicy())
    for key, (ready, not_ready) in zip("xyz", states, strict=False):
        count(zones, key, ready, not_ready)
    zones.judge(0.0)
    return zones


def count(zones: Zones, key: str, ready: int, not_ready: int) -> None:
    """Add a number of nodes to a zone, or remove them."""
    for is_ready, change in ((True, ready), (False, not_ready)):
        for _ in range(abs(change)):
            zones.count(key, is_ready, 1 if change > 0 else -1)


def take(zones: Zones, name: str, now: float) -> None:
    turns = zones.turns("x", now)
    assert turns.ask(name, now) == 0.0
    turns.take(name, now)


def test_a_zone_of_which_a_moment_is_partial_disruption_loses_that_moment() -> None:
    zones = zones_of((4, 1), (1, 0))
    take(zones, "a", 0.0)
    turns = zones.turns("x", 0.0)
    turns.leave("a")
    turns.ask("b", 0.0)

    count(zones, "x", -3, 3)
    assert zones.judge(4.0) == ["b"]
    assert turns.ask("b", 4.0) is None
    count(zones, "x", -1, 1)
    assert zones.judge(4.5) == ["b"]

    assert turns.ask("b", 4.5) == pytest.approx(6.0)


def test_the_time_that_passes_between_two_rates_counts_at_each() -> None:
    """Half a turn fills in 5 s at 0.1; the other half takes 50 s at 0.01, in a large, partially disrupted zone."""
    zones = zones_of((59, 1), (1, 0))
    take(zones, "a", 0.0)

    count(zones, "x", -40, 40)
    zones.judge(5.0)

    assert zones.turns("x", 5.0).ask("b", 5.0) == pytest.approx(50.0)


def test_a_turn_that_was_saved_up_is_lost_when_a_zone_recovers_and_not_when_all_of_it_falls_silent() -> None:
    recovers, falls = zones_of((2, 3), (1, 0)), zones_of((2, 3), (1, 0))
    for zones in (recovers, falls):
        assert zones.turns("x", 0.0).ask("a", 0.0) is None

    count(recovers, "x", 1, -1)
    count(falls, "x", -2, 2)
    assert [zones.judge(50.0) for zones in (recovers, falls)] == [["a"], ["a"]]

    assert recovers.turns("x", 50.0).ask("a", 50.0) == pytest.approx(10.0)
    assert falls.turns("x", 50.0).ask("a", 50.0) == 0.0


def test_a_zone_at_the_threshold_that_comes_and_goes_evicts_at_the_pace_of_its_better_times() -> None:
    """The zone is normal for 8 s of each 16 s; a turn takes 10 s of normal time."""
    zones, evictions, now = zones_of((3, 2), (1, 0)), list[float](), 0.0
    for number in range(10):
        for _ in range(8):
            turns, name = zones.turns("x", now), f"node-{len(evictions)}"
            if turns.ask(name, now) == 0.0:
                turns.take(name, now)
                evictions.append(now)
            now += 1.0
        change = 1 if number % 2 else -1
        count(zones, "x", change, -change)
        zones.judge(now)

    assert evictions == [0.0, 18.0, 36.0, 54.0]


def test_all_lines_begin_anew_when_all_zones_fall_silent_and_when_one_returns() -> None:
    zones = zones_of((1, 1), (1, 0))
    take(zones, "a", 0.0)
    zones.turns("x", 0.0).ask("b", 0.0)

    count(zones, "x", -1, 1)
    count(zones, "y", -1, 1)
    zones.judge(60.0)
    while_silent = zones.all_silent
    assert zones.turns("x", 60.0).waiting == []
    assert zones.turns("x", 60.0).ask("b", 60.0) is None
    assert zones.turns("z", 60.0).ask("other", 60.0) is None

    count(zones, "y", 1, -1)
    zones.judge(70.0)

    assert (while_silent, zones.all_silent) == (True, False)
    assert [zones.turns(key, 70.0).ask("b", 70.0) for key in "xz"] == [pytest.approx(10.0)] * 2
