# SPDX-License-Identifier: Apache-2.0
"""The simulation's own promises: time, crashes, pauses, clocks, failures and hangs."""

from __future__ import annotations

import collections
import gc
import os
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from controller_runtime.core.host import Host, Lock, Thread
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.testing.simulation import EPOCH, Crashed, Hang, LockHeld, SimulatedHost, Simulation, Strategy


def every(host: Host, seconds: float, act: Callable[[], object]) -> Callable[[], None]:
    """A thread's target that acts once every `seconds`, for ever."""

    def run() -> None:
        stop = Stop(host, "ticker")
        while not stop.wait(seconds):
            act()

    return run


def wait_for_ever(host: Host, label: str = "nothing") -> Callable[[], None]:
    def run() -> None:
        condition = host.condition(label)
        with condition:
            while True:
                condition.wait_until(None)

    return run


# Time.


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


@pytest.mark.parametrize(("drift", "ticks"), [(1_000, 1_001), (0, 1_000), (-1_000, 999)])
def test_a_drifting_clock_runs_fast_or_slow(sim: Simulation, drift: int, ticks: int) -> None:
    host, seen = sim.host("r0", drift=drift), []
    host.spawn("ticker", every(host, 1.0, lambda: seen.append(sim.time)))

    sim.advance(1_000.0005)

    assert len(seen) == ticks


# What befalls a host.


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


# Failures.


def test_what_leaves_a_thread_fails_the_run_with_that_exception() -> None:
    bug = ValueError("bug")

    def fail() -> None:
        raise bug

    def run() -> None:
        with Simulation(seed=7) as sim:
            sim.host("r0").spawn("worker", fail)
            sim.advance(1.0)
            pytest.fail("the failure came too late")

    with pytest.raises(ValueError, match="bug") as caught:
        run()

    assert caught.value is bug
    assert "Simulation(seed=7) at 0.000000000 s" in caught.value.__notes__[0]


@pytest.mark.parametrize("seed", range(10))
def test_a_failure_just_before_the_end_is_not_lost(seed: int) -> None:
    def run() -> None:
        with Simulation(seed) as sim:
            host = sim.host("r0")
            stop = Stop(host)
            host.spawn("worker", lambda: stop.wait_until(None) and 1 // 0)
            stop.set()

    with pytest.raises(ZeroDivisionError):
        run()


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda host, helper: host.leaving("PUT"), id="leaving"),
        pytest.param(lambda host, helper: host.spawn("t", lambda: None), id="spawn"),
        pytest.param(lambda host, helper: Stop(host).wait(1.0), id="wait on another condition"),
        pytest.param(lambda host, helper: helper.join_until(None), id="join"),
    ],
)
@pytest.mark.parametrize("swallowed", [False, True])
def test_a_lock_held_across_a_call_out_fails_the_run(
    sim: Simulation, call: Callable[[Host, Thread], object], swallowed: bool
) -> None:
    host = sim.host("r0")
    helper, condition = host.spawn("helper", lambda: None), host.condition("state")

    def work() -> None:
        try:
            with condition:
                call(host, helper)
        except LockHeld:
            if not swallowed:
                raise

    worker = host.spawn("worker", work)

    with pytest.raises(LockHeld, match="r0/worker holds r0:state across"):
        worker.join_until(None)


def test_the_tests_own_thread_is_held_to_the_rule_too(sim: Simulation) -> None:
    with sim.host("r0").lock("l"), pytest.raises(LockHeld, match="across advance"):
        sim.advance(1.0)


def test_only_the_tests_thread_moves_time(sim: Simulation) -> None:
    errors = []

    def advance() -> None:
        try:
            sim.advance(1.0)
        except RuntimeError as error:
            errors.append(str(error))

    sim.host("r0").spawn("worker", advance)
    sim.settle()

    assert errors == ["only the test's thread may advance; this is r0/worker"]


# Choice.


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


# Checks.


def test_a_check_sees_every_switch_and_fails_the_run_at_the_first_breach() -> None:
    inside, most = [], []

    def run() -> None:
        with Simulation() as sim:
            host = sim.host("r0")

            @sim.check
            def one_at_a_time() -> None:
                most.append(len(inside))
                assert len(inside) < 2, "two inside"

            def enter() -> None:
                inside.append(1)
                host.leaving("a call")

            for i in range(3):
                host.spawn(f"t{i}", enter)
            sim.settle()

    with pytest.raises(AssertionError, match="two inside"):
        run()

    assert max(most) == 2


def test_an_idle_check_is_asked_only_when_nobody_can_run(sim: Simulation) -> None:
    host, asked, busy = sim.host("r0"), [], []

    def work() -> None:
        busy.append(1)
        for _ in range(10):
            host.leaving("a call")
        busy.pop()

    sim.check_idle(lambda: asked.append(len(busy)))
    host.spawn("worker", work)
    sim.advance(1.0)

    assert asked
    assert not any(asked)


def test_an_end_check_is_asked_when_the_block_ends_well() -> None:
    def run() -> None:
        with Simulation() as sim:
            sim.check_end(lambda: pytest.fail("not converged"))

    with pytest.raises(pytest.fail.Exception, match="not converged"):
        run()


def test_a_check_may_read_under_locks_that_others_hold(sim: Simulation) -> None:
    host = sim.host("r0")
    outer, inner, seen = host.lock("outer"), host.lock("inner"), []

    @sim.check
    def look() -> None:
        with outer, inner:
            seen.append(host.monotonic())

    def nest() -> None:
        for _ in range(50):
            with outer, inner:
                pass

    host.spawn("a", nest)
    host.spawn("b", nest)
    sim.settle()

    assert seen


def test_a_check_may_fail_the_way_tests_do(sim: Simulation) -> None:
    host, armed = sim.host("r0"), [True]
    sim.check(
        lambda: armed and threading.current_thread().name == "r0/worker" and pytest.fail(f"caught, {armed.pop()}")
    )

    def work() -> None:
        host.leaving("a call")

    with pytest.raises(pytest.fail.Exception):
        host.spawn("worker", work).join_until(None)

    sim.settle()
    assert sim.threads() == []


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda host: host.leaving("call"), id="leaving"),
        pytest.param(lambda host: Stop(host).set(), id="notify"),
        pytest.param(lambda host: host.spawn("t", lambda: None), id="spawn"),
    ],
)
def test_a_check_that_acts_is_refused(act: Callable[[Host], object]) -> None:
    def run() -> None:
        with Simulation() as sim:
            host = sim.host("r0")
            sim.check(lambda: act(host))
            sim.settle()

    with pytest.raises(RuntimeError, match="a check must not"):
        run()


# Hangs.


def test_a_deadlock_names_the_threads_and_what_they_wait_on(sim: Simulation) -> None:
    host = sim.host("r0")
    worker = host.spawn("worker-1", wait_for_ever(host, "queue"))

    with pytest.raises(Hang) as caught:
        worker.join_until(None)

    report = str(caught.value)
    assert report.startswith("deadlock: nobody can run and no timer is set")
    assert "r0/worker-1 waits on 'queue' for ever" in report
    assert "test waits on 'join worker-1' for ever" in report


def test_locks_taken_in_two_orders_are_a_deadlock_that_some_seed_finds() -> None:
    def run(seed: int) -> None:
        with Simulation(seed) as sim:
            host = sim.host("r0")
            a, b = host.lock("a"), host.lock("b")

            def take(first: Lock, second: Lock) -> None:
                with first, second:
                    pass

            host.spawn("ab", lambda: take(a, b))
            host.spawn("ba", lambda: take(b, a))

    with pytest.raises(Hang, match="deadlock: threads wait for each other's locks") as caught:
        collections.deque(map(run, range(100)), maxlen=0)

    assert "r0/ab waits for the lock r0:b, holds r0:a" in str(caught.value)
    assert "r0/ba waits for the lock r0:a, holds r0:b" in str(caught.value)


def test_threads_that_spin_are_a_livelock() -> None:
    def run() -> None:
        with Simulation(livelock_after=1_000) as sim:
            host = sim.host("r0")
            host.spawn("spinner", every(host, 0.0, lambda: None))
            sim.advance(1.0)

    with pytest.raises(Hang, match="livelock: 1000 steps in one instant") as caught:
        run()

    assert "0 r0/spinner take ticker" in str(caught.value)


def test_a_thread_stuck_outside_is_named_with_its_line() -> None:
    bare = threading.Event()

    def run() -> None:
        with Simulation(stuck_after=0.05) as sim:
            sim.host("r0").spawn("worker", lambda: bare.wait() and None)
            sim.settle()

    with pytest.raises(Hang) as caught:
        run()
    bare.set()
    for thread in threading.enumerate():
        if thread.name == "r0/worker":
            thread.join()

    assert "r0/worker is stuck outside the simulation" in str(caught.value)
    assert "bare.wait()" in str(caught.value)


def test_a_stranger_is_refused(sim: Simulation) -> None:
    host, errors = sim.host("r0"), []

    def intrude() -> None:
        try:
            host.monotonic()
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=intrude, name="stranger")
    thread.start()
    thread.join()

    assert errors == ["stranger is not a thread of this simulation"]


# The end.


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
