# SPDX-License-Identifier: Apache-2.0
"""The time until another replica leads, after a kill and after a stop; and the requests of those that wait."""

from __future__ import annotations

import pytest
from kit.election_bench import Bench, Candidate

from controller_runtime.testing.simulation import Simulation

LEASE_DURATION, RETRY = 15.0, 2.0


def a_leader_and_two_others(bench: Bench) -> Candidate:
    """The waiting replicas have looked for a while, and are at any point between two looks."""
    leader = bench.start("a")
    for name in "bc":
        bench.sim.advance(0.7)
        bench.start(name)
    bench.sim.advance(20.0 + RETRY * bench.sim.chance("when").random())
    return leader


@pytest.mark.parametrize("seed", range(60))
def test_a_leader_that_is_killed_is_succeeded_in_its_lease_and_one_retry_period(seed: int) -> None:
    with Simulation(seed) as sim:
        bench = Bench(sim)
        leader = a_leader_and_two_others(bench)

        sim.crash(leader.host)
        sim.advance(LEASE_DURATION + RETRY)

        assert bench.spec["holderIdentity"] in ("b", "c")


@pytest.mark.parametrize("seed", range(60))
def test_a_leader_that_stops_is_succeeded_in_one_retry_period(seed: int) -> None:
    with Simulation(seed) as sim:
        bench = Bench(sim)
        leader = a_leader_and_two_others(bench)

        leader.stop.set()
        sim.advance(RETRY)

        assert bench.spec["holderIdentity"] in ("b", "c")


def test_who_waits_looks_hardly_more_often_than_a_leader_renews(sim: Simulation) -> None:
    bench = Bench(sim)
    bench.start("a")
    waiting = bench.start("b")

    sim.advance(600.0)

    pauses = [later - earlier for (earlier, _), (later, _) in zip(waiting.calls, waiting.calls[1:], strict=False)]
    assert 32.0 <= len(waiting.calls) / 10.0 <= 34.0
    assert set(waiting.verbs) == {"GET"}
    assert min(pauses) >= RETRY / 1.2 - 0.001
    assert max(pauses) <= RETRY + 0.001
