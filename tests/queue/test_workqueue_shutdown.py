# SPDX-License-Identifier: Apache-2.0
"""The shutdown of a queue, with and without draining."""

from __future__ import annotations

import pytest

from apimachinery.errors import ShutDown
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import SimulatedHost, SimulatedThread, Simulation

BOTH = pytest.mark.parametrize("drain", [pytest.param(False, id="plain"), pytest.param(True, id="draining")])


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.fixture
def queue(host: SimulatedHost) -> WorkQueue[str]:
    return WorkQueue(host)


def hold(queue: WorkQueue[str], *items: str) -> None:
    for item in items:
        queue.add(item)
    assert [queue.get() for _ in items] == list(items)


def draining(sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]) -> SimulatedThread:
    thread = host.spawn("drain", lambda: queue.shut_down(drain=True))
    sim.settle()
    return thread


def ended(host: SimulatedHost, thread: SimulatedThread) -> bool:
    return thread.join_until(host.monotonic())


@pytest.mark.scenario("WQ-07")
def test_draining_returns_once_everything_is_done(sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]) -> None:
    """A draining shutdown waits until both items are done; meanwhile `get` raises ShutDown."""
    hold(queue, "foo", "bar")
    drain = draining(sim, host, queue)

    with pytest.raises(ShutDown):
        queue.get()
    queue.done("foo")
    sim.settle()
    assert not ended(host, drain)
    queue.done("bar")
    sim.settle()

    assert ended(host, drain)


def test_draining_waits_for_items_that_nobody_has_taken_yet(
    sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]
) -> None:
    queue.add("foo")
    drain = draining(sim, host, queue)
    assert not ended(host, drain)

    queue.done(queue.get())
    sim.settle()

    assert ended(host, drain)


@pytest.mark.scenario("WQ-08")
def test_a_plain_shutdown_does_not_wait(queue: WorkQueue[str]) -> None:
    """It returns although items are being processed; `done` may still be called for them."""
    hold(queue, "foo", "bar")

    queue.shut_down()

    queue.done("foo")
    queue.done("bar")
    assert queue.counters().work_duration.count == 2


@pytest.mark.scenario("WQ-09")
def test_a_plain_shutdown_ends_the_wait_of_a_draining_one(
    sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]
) -> None:
    """The draining call returns, though the items are not done."""
    hold(queue, "foo", "bar")
    drain = draining(sim, host, queue)

    queue.shut_down()
    sim.settle()

    assert ended(host, drain)


@pytest.mark.scenario("WQ-11")
def test_what_is_queued_is_handed_out_before_the_end(queue: WorkQueue[str]) -> None:
    """Consumers receive every queued item, then the shutdown."""
    queue.add("foo")
    queue.add("bar", low=True)

    queue.shut_down()

    assert [queue.get(), queue.get()] == ["foo", "bar"]
    with pytest.raises(ShutDown):
        queue.get()


def test_an_item_added_again_before_the_shutdown_is_handed_out_again(queue: WorkQueue[str]) -> None:
    hold(queue, "foo")
    queue.add("foo")

    queue.shut_down()
    queue.done("foo")

    assert queue.get() == "foo"


@pytest.mark.scenario("WD-07")
def test_delays_end_with_the_queue(sim: Simulation, queue: WorkQueue[str]) -> None:
    """Items that are delayed at the shutdown, or added after it, are never handed out; no thread is left."""
    queue.add_after("before", 1.0)

    queue.shut_down()
    queue.add_after("after", 1.0)
    queue.add_rate_limited("failed")
    queue.add("late")
    sim.advance(5.0)

    assert (len(queue), queue.counters().retries) == (0, 1)
    assert sim.threads() == []
    with pytest.raises(ShutDown):
        queue.get()


@pytest.mark.scenario("PQ-23")
def test_a_sleeping_consumer_learns_of_the_end(sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]) -> None:
    """Every consumer that sleeps in get wakes to the shutdown."""
    learned: list[int] = []

    def consume(n: int) -> None:
        with pytest.raises(ShutDown):
            queue.get()
        learned.append(n)

    for n in range(3):
        host.spawn(f"consumer-{n}", lambda n=n: consume(n))
    sim.settle()

    queue.shut_down()
    sim.settle()

    assert sorted(learned) == [0, 1, 2]


@pytest.mark.scenario("PQ-29")
@BOTH
def test_shutting_down_twice_is_no_error(queue: WorkQueue[str], drain: bool) -> None:
    """The second shutdown finds nothing to do."""
    queue.shut_down(drain)

    queue.shut_down(drain)

    with pytest.raises(ShutDown):
        queue.get()


def test_an_item_that_fell_due_before_the_shutdown_is_handed_out(sim: Simulation, queue: WorkQueue[str]) -> None:
    queue.add_after("due", 1.0)
    queue.add_after("later", 3.0)
    sim.advance(2.0)

    queue.shut_down()

    assert queue.get() == "due"
    with pytest.raises(ShutDown):
        queue.get()


def test_draining_does_not_wait_for_what_is_not_due(
    sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]
) -> None:
    queue.add_after("later", 3600.0)

    assert ended(host, draining(sim, host, queue))
