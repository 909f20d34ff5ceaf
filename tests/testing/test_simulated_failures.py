# SPDX-License-Identifier: Apache-2.0
"""A simulation fails if a thread or a check fails, or if a lock is held across a call out."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from apimachinery.host import Host, Thread
from apimachinery.stop import Stop
from controller_runtime.testing.simulation import LockHeld, Simulation


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
