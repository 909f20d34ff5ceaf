# SPDX-License-Identifier: Apache-2.0
"""Time moves when no thread can run, clocks may be wrong, and no thread is starved."""

from __future__ import annotations

from datetime import timedelta

import pytest
from kit.simulation.simulated_programs import every, wait_for_ever

from controller_runtime.testing.simulation import EPOCH, Simulation, Strategy


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("period", "count"), [(0.1, 100), (0.3, 33), (1.0, 10), (10.0, 1), (10.001, 0)])
def test_advance_lets_what_is_due_happen_and_nothing_later(seed: int, period: float, count: int) -> None:
    with Simulation(seed) as sim:
        host, ticks = sim.host("r0"), []
        start = host.monotonic()

        for name in ("a", "b"):
            host.spawn(name, every(host, period, lambda: ticks.append(sim.time)))
        sim.advance(10.0)

        assert len(ticks) == 2 * count
        assert host.monotonic() - start == pytest.approx(10.0, abs=1e-9)


def test_time_stands_still_while_anybody_can_run(sim: Simulation) -> None:
    host, done = sim.host("r0"), []

    def work() -> None:
        for _ in range(100):
            host.leaving("a call")
        done.append(sim.time)

    host.spawn("worker", work)
    sim.settle()

    assert done == [0.0]


def test_an_hour_of_idleness_is_a_handful_of_steps(sim: Simulation) -> None:
    host = sim.host("r0")
    for i in range(3):
        host.spawn(f"idle-{i}", wait_for_ever(host))
    sim.settle()
    before = sim.steps

    sim.advance(3600.0)

    assert sim.steps - before <= 3


def test_time_does_not_go_back(sim: Simulation) -> None:
    with pytest.raises(ValueError, match="cannot go back"):
        sim.advance(-1.0)


def test_hosts_agree_on_the_date_and_on_no_origin(sim: Simulation) -> None:
    first, second = sim.host("r0"), sim.host("r1")

    sim.advance(1.5)

    assert first.now() == second.now() == EPOCH + timedelta(seconds=1.5)
    assert abs(first.monotonic() - second.monotonic()) > 1.0


def test_a_jump_moves_one_wall_clock_and_no_deadline(sim: Simulation) -> None:
    host, other, ticks = sim.host("r0"), sim.host("r1"), []
    host.spawn("ticker", every(host, 1.0, lambda: ticks.append(sim.time)))

    sim.jump(host, -3600.0)
    sim.advance(2.0)

    assert host.now() == EPOCH + timedelta(seconds=2.0 - 3600.0)
    assert other.now() == EPOCH + timedelta(seconds=2.0)
    assert ticks == [1.0, 2.0]


def test_the_monotonic_clock_of_a_suspended_machine_stands_still_and_its_wall_clock_goes_on(sim: Simulation) -> None:
    host, ticks = sim.host("r0"), []
    origin = host.monotonic()
    host.spawn("ticker", every(host, 1.0, lambda: ticks.append(sim.time)))

    sim.advance(1.5)
    sim.suspend(host, 5.0)
    sim.advance(1.0)
    sim.suspend(host, 6.0)
    sim.advance(8.0)

    assert host.monotonic() - origin == pytest.approx(3.5)
    assert host.elapsed() - origin == pytest.approx(10.5)
    assert host.now() == EPOCH + timedelta(seconds=10.5)
    assert ticks == pytest.approx([1.0, 9.0, 10.0])


@pytest.mark.parametrize(("drift", "ticks"), [(1_000, 1_001), (0, 1_000), (-1_000, 999)])
def test_a_drifting_clock_runs_fast_or_slow(sim: Simulation, drift: int, ticks: int) -> None:
    host, seen = sim.host("r0", drift=drift), []
    host.spawn("ticker", every(host, 1.0, lambda: seen.append(sim.time)))

    sim.advance(1_000.0005)

    assert len(seen) == ticks


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("seed", range(20))
def test_nobody_is_starved_by_a_thread_that_always_could_run(seed: int, strategy: Strategy) -> None:
    with Simulation(seed, strategy=strategy, livelock_after=2_000) as sim:
        host, arrived = sim.host("r0"), []

        def spin() -> None:
            while len(arrived) < 3:
                host.leaving("a call")

        for i in range(3):
            host.spawn(f"spinner-{i}", spin)
            host.spawn(f"arrives-{i}", lambda: arrived.append(1))
        sim.settle()

        assert sim.threads() == []


def test_a_switch_chance_of_zero_makes_locks_invisible() -> None:
    with Simulation(switch_chance=0.0) as sim:
        lock, before = sim.host("r0").lock("l"), sim.steps

        for _ in range(100):
            with lock:
                pass

        assert sim.steps == before
