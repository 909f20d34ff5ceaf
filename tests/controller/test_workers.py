# SPDX-License-Identifier: Apache-2.0
"""Workers: their number, one reconcile per key at a time, no new work after the stop, errors of reconciles."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

import attrs
import pytest

from apimachinery.errors import ConnectionLost, TerminalError
from apimachinery.host import Host
from apimachinery.log import bound_fields, fields_of, text_of
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.workers import Workers
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import SimulatedHost, Simulation

A, B = ObjectKey("a"), ObjectKey("b")


@attrs.frozen
class Calling(Reconciler):
    """Calls a function."""

    function: Callable[[Request], Result]

    def reconcile(self, request: Request) -> Result:
        return self.function(request)


@attrs.define
class Room:
    """A queue, its workers and their stop."""

    host: SimulatedHost
    queue: WorkQueue[Request]
    stop: Stop
    ran: list[ObjectKey] = attrs.field(factory=list)
    workers: Workers = attrs.field(init=False)

    def work(self, function: Callable[[Request], Result], workers: int = 1) -> None:
        def note(key: ObjectKey) -> Result:
            self.ran.append(key)
            return function(key)

        self.stop.on_set(self.queue.shut_down)
        self.workers = Workers(self.host, "zones", Calling(note), self.queue, self.stop)
        self.workers.start(workers)


@pytest.fixture
def room(sim: Simulation) -> Room:
    host = sim.host("r0")
    return Room(host, WorkQueue(host), Stop(host))


def sleeper(host: Host, seconds: float) -> Callable[[Request], Result]:
    never = Stop(host, "never")

    def sleep(key: ObjectKey) -> Result:
        never.wait(seconds)
        return Result()

    return sleep


def test_workers_are_named_after_their_controller(sim: Simulation, room: Room) -> None:
    room.work(lambda request: Result(), workers=2)

    assert sorted(sim.threads()) == ["r0/zones/worker-0", "r0/zones/worker-1"]
    room.stop.set()


@pytest.mark.scenario("CT-02")
@pytest.mark.scenario("CT-19")
def test_a_failure_is_retried_until_it_succeeds_and_only_then_forgotten(sim: Simulation, room: Room) -> None:
    """One error and one success are counted, with two durations, and the failures are forgotten."""

    def fail_once(key: ObjectKey) -> Result:
        if len(room.ran) == 1:
            raise ConnectionLost("cut")
        return Result()

    room.queue.add(A)
    room.work(fail_once)
    sim.settle()
    assert room.queue.num_requeues(A) == 1

    sim.advance(1.0)

    counters = room.workers.counters()
    assert (counters.errors, counters.success, counters.durations.count, counters.active_workers) == (1, 1, 2, 0)
    assert (room.queue.num_requeues(A), len(room.queue)) == (0, 0)
    room.stop.set()


@pytest.mark.scenario("CT-08")
@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda request: 1 / 0, id="raises"),
        pytest.param(lambda request: None, id="returns nothing"),
        pytest.param(lambda request: {}["missing"], id="raises KeyError"),
        pytest.param(lambda request: sys.exit(3), id="exits"),
    ],
)
def test_a_bug_is_counted_logged_with_its_traceback_and_retried(
    sim: Simulation, room: Room, caplog: pytest.LogCaptureFixture, function: Callable[[Request], Result]
) -> None:
    """An unexpected error is a panic: it is counted, logged with its traceback and retried; the worker goes on."""
    room.queue.add(A)
    room.work(function)
    sim.advance(0.012)  # the first run, and the retry after 5 ms

    assert room.ran == [A, A]
    assert (room.workers.counters().errors, room.workers.counters().panics) == (2, 2)
    assert caplog.records[0].levelno == logging.ERROR
    assert caplog.records[0].exc_info is not None
    assert caplog.records[0].exc_info[0] is not None
    assert not room.stop.is_set()
    room.stop.set()


def test_a_terminal_error_is_not_retried(sim: Simulation, room: Room) -> None:
    def refuse(key: ObjectKey) -> Result:
        raise TerminalError("hopeless")

    room.queue.add(A)
    room.work(refuse)
    sim.advance(3600.0)

    assert room.ran == [A]
    assert (room.workers.counters().errors, room.workers.counters().terminal_errors) == (1, 1)
    room.stop.set()


@pytest.mark.scenario("CT-20")
@pytest.mark.parametrize("seed", range(10))
def test_one_name_is_never_reconciled_twice_at_a_time(seed: int) -> None:
    """With two workers and one request added a hundred times, no reconciles overlap, and the last addition counts."""
    with Simulation(seed) as sim:
        host = sim.host("r0")
        room = Room(host, WorkQueue(host), Stop(host))
        sleep, inside, triggers, seen = sleeper(host, 0.01), [], [0], []

        def reconcile(request: Request) -> Result:
            assert not inside, "two at once"
            inside.append(request)
            seen.append(triggers[0])
            sleep(request)
            inside.pop()
            return Result()

        room.work(reconcile, workers=2)
        for _ in range(100):
            triggers[0] += 1
            room.queue.add(A)
            sim.advance(0.003)
        sim.advance(1.0)

        assert room.workers.counters().panics == 0
        assert seen[-1] == 100
        room.stop.set()


def test_different_names_are_reconciled_at_the_same_time(sim: Simulation, room: Room) -> None:
    room.queue.add(A)
    room.queue.add(B)
    room.work(sleeper(room.host, 1.0), workers=2)

    sim.settle()

    assert room.workers.counters().active_workers == 2
    room.stop.set()


@pytest.mark.scenario("CT-21")
@pytest.mark.parametrize("seed", range(10))
def test_after_the_stop_nothing_is_begun_and_what_runs_is_finished(seed: int) -> None:
    """A slow reconcile is finished; the request that is queued behind it is not begun."""
    with Simulation(seed) as sim:
        host = sim.host("r0")
        room = Room(host, WorkQueue(host), Stop(host))
        sleep, cancelled = sleeper(host, 10.0), []

        def slow(key: ObjectKey) -> Result:
            sleep(key)
            cancelled.append(room.stop.is_cancelled())
            return Result()

        room.queue.add(A)
        room.queue.add(B)
        room.work(slow)
        sim.advance(1.0)

        room.stop.set()
        left = room.workers.join_until(host.monotonic() + 30.0)

        assert (left, room.ran, cancelled) == ([], [A], [False])
        assert room.workers.counters().success == 1


def test_lines_logged_inside_a_reconcile_name_controller_and_request(
    sim: Simulation, room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.queue.add(A, cause="nodes changed")
    with caplog.at_level(logging.DEBUG):
        room.work(lambda request: Result())
        sim.settle()

    (record,) = [record for record in caplog.records if text_of(record) == "reconciled"]
    about = {"controller": "zones", "request": A, "reconcile": 1}
    assert fields_of(record) == {**about, "causes": (("nodes changed", None, "", 1),), "took": 0.0}
    room.stop.set()


@pytest.mark.scenario("CT-18")
def test_each_reconcile_has_a_number_that_its_lines_and_its_own_code_can_see(sim: Simulation, room: Room) -> None:
    """Each reconcile of a controller has another number, which its log context has, in its threads as well."""
    numbers: list[object] = []

    def note(key: ObjectKey) -> Result:
        room.host.spawn("helper", lambda: numbers.append(bound_fields()["reconcile"]))
        return Result()

    for request in (A, B):
        room.queue.add(request)
    room.work(note)
    sim.settle()

    assert sorted(numbers) == [1, 2]
    room.stop.set()
