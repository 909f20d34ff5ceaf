# SPDX-License-Identifier: Apache-2.0
"""Hosts crash, freeze and are succeeded by others, and a crashed host has no effect any more."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable

import pytest
from kit.simulation.simulated_programs import every, wait_for_ever

from apimachinery.log import get_logger
from controller_runtime.testing.simulation import Crashed, SimulatedHost, Simulation


def test_a_crash_unwinds_every_thread_and_no_finally_reaches_outside(sim: Simulation) -> None:
    host, outside = sim.host("r0"), sim.host("server")
    server, story = outside.lock("server"), []

    def work() -> None:
        try:
            wait_for_ever(host)()
        finally:
            story.append("finally ran")
            with server:
                story.append("its call was served")

    host.spawn("worker", work)
    sim.settle()
    sim.crash(host)
    sim.settle()

    assert story == ["finally ran"]
    assert sim.threads() == []


def test_nothing_is_logged_by_a_host_that_has_crashed(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    host = sim.host("r0")

    def work() -> None:
        try:
            wait_for_ever(host)()
        finally:
            get_logger("test.worker").error("a dead host speaks")

    host.spawn("worker", work)
    sim.settle()
    sim.crash(host)
    sim.settle()

    assert caplog.records == []


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda host: host.monotonic(), id="monotonic"),
        pytest.param(lambda host: host.now(), id="now"),
        pytest.param(lambda host: host.uuid(), id="uuid"),
        pytest.param(lambda host: host.leaving("call"), id="leaving"),
        pytest.param(lambda host: host.spawn("t", lambda: None), id="spawn"),
        pytest.param(lambda host: host.lock("l").__enter__(), id="lock"),
    ],
)
def test_every_call_on_a_crashed_host_is_refused(sim: Simulation, use: Callable[[SimulatedHost], object]) -> None:
    host = sim.host("r0")
    sim.crash(host)

    with pytest.raises(Crashed, match="r0"):
        use(host)


def test_a_host_that_crashes_itself_does_not_go_on(sim: Simulation) -> None:
    host, story = sim.host("r0"), []

    def work() -> None:
        story.append("before")
        sim.crash(host)
        story.append("after")

    host.spawn("worker", work)
    sim.settle()

    assert story == ["before"]
    assert host.crashed


def test_a_crashed_thread_does_not_go_on_from_where_it_stood(sim: Simulation) -> None:
    host, story = sim.host("r0"), []

    def work() -> None:
        sim.pause(host, 1.0)
        host.leaving("a call")
        story.append("went on")

    host.spawn("worker", work)
    sim.settle()
    sim.crash(host)
    sim.advance(2.0)

    assert story == []


def test_nothing_that_catches_errors_survives_a_crash(sim: Simulation) -> None:
    host, survived = sim.host("r0"), []

    def stubborn() -> None:
        while True:
            try:
                wait_for_ever(host)()
            except Exception:  # noqa: BLE001 - what a worker does
                survived.append(True)

    host.spawn("worker", stubborn)
    sim.settle()
    sim.crash(host)
    sim.settle()

    assert (survived, sim.threads()) == ([], [])


def test_a_restart_is_a_new_host_with_a_new_name_and_new_chance(sim: Simulation) -> None:
    first = sim.host("r1")

    second = sim.restart(first)
    third = sim.restart(second)

    assert [host.name for host in (first, second, third)] == ["r1", "r1#2", "r1#3"]
    assert [host.crashed for host in (first, second, third)] == [True, True, False]
    assert second.random.random() != third.random.random()


def test_a_name_is_given_once(sim: Simulation) -> None:
    sim.host("r0")

    with pytest.raises(ValueError, match="host r0 exists already"):
        sim.host("r0")


def test_a_paused_host_does_nothing_while_time_and_its_deadlines_go_on(sim: Simulation) -> None:
    host, ticks = sim.host("r0"), []
    host.spawn("ticker", every(host, 4.0, lambda: ticks.append(sim.time)))
    sim.advance(1.0)
    before = host.monotonic()

    sim.pause(host, 9.0)
    sim.advance(8.0)
    assert (ticks, host.paused) == ([], True)
    assert host.monotonic() - before == pytest.approx(8.0)

    sim.advance(5.0)
    assert (ticks, host.paused) == ([10.0, 14.0], False)


def test_a_pause_during_a_pause_does_not_shorten_it(sim: Simulation) -> None:
    host, ticks = sim.host("r0"), []
    host.spawn("ticker", every(host, 1.0, lambda: ticks.append(sim.time)))

    sim.settle()

    sim.pause(host, 10.0)
    sim.pause(host, 5.0)
    sim.advance(10.0)

    assert ticks == [10.0]


def test_a_stalled_thread_is_held_back_while_its_siblings_run(sim: Simulation) -> None:
    host, ticks = sim.host("r0"), []
    slow = host.spawn("slow", every(host, 1.0, lambda: ticks.append("slow")))
    host.spawn("fast", every(host, 1.0, lambda: ticks.append("fast")))

    sim.stall(slow, 3.5)
    sim.advance(3.0)

    assert ticks == ["fast"] * 3


def test_a_crash_reaches_a_paused_host(sim: Simulation) -> None:
    host = sim.host("r0")
    host.spawn("worker", wait_for_ever(host))
    sim.pause(host, 100.0)

    sim.crash(host)
    sim.settle()

    assert sim.threads(host) == []


def test_no_thread_outlives_the_block_and_what_is_left_can_be_looked_at() -> None:
    before = threading.active_count()

    with Simulation() as sim:
        host = sim.host("r0")
        condition = host.condition("c")
        for i in range(5):
            host.spawn(f"t{i}", wait_for_ever(host))
        sim.advance(1.0)

    assert threading.active_count() == before
    with condition:
        assert host.monotonic() > 0


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no CPU affinity here")
def test_the_process_gets_its_cpus_and_its_collector_back() -> None:
    before = os.sched_getaffinity(0)

    with Simulation():
        inside = os.sched_getaffinity(0)

        assert not gc.isenabled()

    assert gc.isenabled()
    assert len(inside) == 1
    assert os.sched_getaffinity(0) == before
