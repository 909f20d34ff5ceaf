# SPDX-License-Identifier: Apache-2.0
"""Hangs of every kind are found, and their report says what each thread waits for."""

from __future__ import annotations

import collections
import threading

import pytest
from kit.simulation.simulated_programs import every, wait_for_ever

from apimachinery.host import Lock
from controller_runtime.testing.simulation import Hang, Simulation

STUCK = 0.5
"""Real seconds: on a busy machine a thread may not run for a tenth, though it could."""


def test_a_deadlock_names_the_threads_and_what_they_wait_on(sim: Simulation) -> None:
    host = sim.host("r0")
    worker = host.spawn("worker-1", wait_for_ever(host, "queue"))

    with pytest.raises(Hang) as caught:
        worker.join_until(None)

    report = str(caught.value)
    assert report.startswith("deadlock: no thread can run and no timer is set")
    assert "r0/worker-1 waits on 'queue' without a deadline" in report
    assert "test waits on 'join worker-1' without a deadline" in report


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
        with Simulation(stuck_after=STUCK) as sim:
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


def test_a_simulation_that_was_given_up_fails_its_test_and_what_follows_at_once() -> None:
    bare = threading.Event()

    def run() -> None:
        with Simulation(stuck_after=STUCK) as sim:
            host = sim.host("r0")
            host.spawn("worker", lambda: bare.wait() and None)
            with pytest.raises(Hang, match=f"has not come back for {STUCK} s of real time"):
                sim.settle()
            with pytest.raises(Hang, match="the simulation was given up"):
                host.monotonic()

    run()  # its end neither waits for the thread nor raises again
    bare.set()
    for thread in threading.enumerate():
        if thread.name == "r0/worker":
            thread.join()


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
