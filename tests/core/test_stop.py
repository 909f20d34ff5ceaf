# SPDX-License-Identifier: Apache-2.0
"""Stopping: two stages, callbacks that run once, and threads whose failure sets a stop."""

from __future__ import annotations

import sys

import pytest

from apimachinery.errors import Cancelled
from apimachinery.log import text_of
from apimachinery.stop import Stage, Stop, spawn
from controller_runtime.testing.simulation import Simulation


def test_a_new_stop_lets_everybody_work(sim: Simulation) -> None:
    stop = Stop(sim.host("r0"))

    stop.raise_if_cancelled()

    assert (stop.stage, stop.is_set(), stop.is_cancelled(), stop.failure) == (Stage.RUNNING, False, False, None)


def test_set_stops_and_cancel_cancels_and_neither_goes_back(sim: Simulation) -> None:
    stop, stages = Stop(sim.host("r0")), []

    for ask in (stop.set, stop.set, stop.cancel, stop.set):
        ask()
        stages.append(stop.stage)

    assert stages == [Stage.STOPPING, Stage.STOPPING, Stage.CANCELLED, Stage.CANCELLED]


def test_work_in_hand_is_given_up_only_when_cancelled(sim: Simulation) -> None:
    stop = Stop(sim.host("r0"))
    stop.set()
    stop.raise_if_cancelled()

    stop.cancel()

    with pytest.raises(Cancelled, match="grace has run out"):
        stop.raise_if_cancelled()


@pytest.mark.parametrize("seed", range(20))
def test_a_wait_ends_when_asked_or_when_its_time_is_up(seed: int) -> None:
    with Simulation(seed) as sim:
        host = sim.host("r0")
        stop, ended = Stop(host), []

        for seconds in (1.0, 100.0):
            host.spawn(f"waiter-{seconds}", lambda seconds=seconds: ended.append((stop.wait(seconds), sim.time)))
        sim.advance(10.0)
        stop.set()
        sim.settle()

        assert ended == [(False, 1.0), (True, 10.0)]


def test_a_wait_for_the_cancelling_sleeps_through_the_stopping(sim: Simulation) -> None:
    host = sim.host("r0")
    stop, seen = Stop(host), []
    host.spawn("waiter", lambda: seen.append(stop.wait_until(None, Stage.CANCELLED)))

    stop.set()
    sim.settle()
    assert seen == []

    stop.cancel()
    sim.settle()
    assert seen == [True]


def test_everybody_who_waits_is_woken(sim: Simulation) -> None:
    host = sim.host("r0")
    stop = Stop(host)
    for i in range(3):
        host.spawn(f"waiter-{i}", lambda: stop.wait_until(None))
    sim.settle()

    stop.set()
    sim.settle()

    assert sim.threads() == []


def test_a_wait_on_a_stop_already_set_returns_at_once(sim: Simulation) -> None:
    stop = Stop(sim.host("r0"))
    stop.set()

    assert stop.wait(1_000.0)
    assert sim.time == 0.0


def test_callbacks_run_once_in_order_each_at_its_stage(sim: Simulation) -> None:
    stop, ran = Stop(sim.host("r0")), []
    stop.on_set(lambda: ran.append("give up"), Stage.CANCELLED)
    stop.on_set(lambda: ran.append("first"))
    stop.on_set(lambda: ran.append("second"))

    stop.set()
    assert ran == ["first", "second"]

    stop.cancel()
    stop.cancel()
    assert ran == ["first", "second", "give up"]


def test_cancelling_at_once_runs_the_callbacks_of_both_stages(sim: Simulation) -> None:
    stop, ran = Stop(sim.host("r0")), []
    stop.on_set(lambda: ran.append("give up"), Stage.CANCELLED)
    stop.on_set(lambda: ran.append("stop"))

    stop.cancel()

    assert ran == ["stop", "give up"]


def test_a_failure_may_cancel_at_once(sim: Simulation) -> None:
    stop, error, seen = Stop(sim.host("r0")), ValueError("lost"), []
    stop.on_set(lambda: seen.append((stop.stage, stop.failure)))

    stop.fail(error, Stage.CANCELLED)

    assert seen == [(Stage.CANCELLED, error)]


def test_a_callback_added_late_runs_at_once(sim: Simulation) -> None:
    stop, ran = Stop(sim.host("r0")), []
    stop.set()

    remove = stop.on_set(lambda: ran.append("late"))
    remove()

    assert ran == ["late"]


def test_a_callback_taken_back_does_not_run(sim: Simulation) -> None:
    stop, ran = Stop(sim.host("r0")), []
    remove = stop.on_set(lambda: ran.append("removed"))
    stop.on_set(lambda: ran.append("kept"))

    remove()
    remove()
    stop.set()

    assert ran == ["kept"]


def test_a_callback_may_use_the_stop_and_locks_of_its_own(sim: Simulation) -> None:
    host = sim.host("r0")
    stop, lock, seen = Stop(host), host.lock("own"), []

    def callback() -> None:
        with lock:
            seen.append(stop.is_set())
        host.leaving("a call")
        stop.cancel()

    stop.on_set(callback)
    stop.set()

    assert seen == [True]
    assert stop.is_cancelled()


def test_a_callback_that_raises_keeps_no_other_from_running(sim: Simulation) -> None:
    stop, ran = Stop(sim.host("r0")), []
    stop.on_set(lambda: ran.append("before"))
    stop.on_set(lambda: [][0])
    stop.on_set(lambda: ran.append("after"))

    with pytest.raises(IndexError):
        stop.set()

    assert ran == ["before", "after"]


@pytest.mark.parametrize("seed", range(50))
def test_each_callback_runs_once_however_many_threads_ask(seed: int) -> None:
    with Simulation(seed) as sim:
        host = sim.host("r0")
        stop, ran = Stop(host), []

        for i in range(3):
            host.spawn(f"adds-{i}", lambda i=i: stop.on_set(lambda: ran.append(i)))
            host.spawn(f"asks-{i}", stop.set if i else stop.cancel)
        sim.settle()

        assert sorted(ran) == [0, 1, 2]


def test_a_failed_thread_stops_its_program_and_the_first_failure_is_kept(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    host = sim.host("r0")
    stop = Stop(host)

    def fail() -> None:
        raise ValueError(f"failure at {sim.time}")

    spawn(host, stop, "first", fail)
    sim.advance(1.0)
    spawn(host, stop, "second", fail)
    sim.settle()

    assert stop.is_set()
    assert str(stop.failure) == "failure at 0.0"
    assert [text_of(record) for record in caplog.records] == ["thread failed, stopping"] * 2


def test_a_thread_that_ends_well_stops_nobody(sim: Simulation) -> None:
    host = sim.host("r0")
    stop = Stop(host)

    spawn(host, stop, "short", lambda: None)
    sim.settle()

    assert (stop.is_set(), sim.threads()) == (False, [])


def test_a_thread_that_exits_has_failed(sim: Simulation) -> None:
    host = sim.host("r0")
    stop = Stop(host)

    spawn(host, stop, "exits", lambda: sys.exit(3))
    sim.settle()

    assert isinstance(stop.failure, SystemExit)
