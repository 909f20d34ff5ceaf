# SPDX-License-Identifier: Apache-2.0
"""Many producers and consumers under many schedules of their threads."""

from __future__ import annotations

import random

import pytest

from apimachinery.errors import ShutDown
from apimachinery.system import SystemHost
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import SimulatedHost, Simulation

BOTH = pytest.mark.parametrize("drain", [pytest.param(False, id="plain"), pytest.param(True, id="draining")])


class Hands:
    """Consumers that note the items they process, and fail if a second one gets an item at the same time."""

    def __init__(self, host: SimulatedHost | SystemHost, queue: WorkQueue[int], work: float = 0.0) -> None:
        self.queue = queue
        self.counts: dict[int, int] = {}
        self._host = host
        self._held: set[int] = set()
        self._work = work
        self._asleep = host.condition("work")

    def start(self, count: int) -> list[object]:
        return [self._host.spawn(f"consumer-{n}", self._consume) for n in range(count)]

    def begin(self, item: int) -> None:
        assert item not in self._held, f"{item} is processed twice at a time"
        counters = self.queue.counters()
        assert min(counters.depth, counters.low_depth) >= 0
        self._held.add(item)
        self.counts[item] = self.counts.get(item, 0) + 1

    def _consume(self) -> None:
        while True:
            try:
                item = self.queue.get()
            except ShutDown:
                return
            self.begin(item)
            self.process(item)
            self._held.remove(item)
            self.queue.done(item)

    def process(self, item: int) -> None:
        if self._work:
            deadline = self._host.monotonic() + self._work
            with self._asleep:
                while self._host.monotonic() < deadline:
                    self._asleep.wait_until(deadline)


class Returning(Hands):
    """Consumers that add each item again while they process it for the first time."""

    def process(self, item: int) -> None:
        if self.counts[item] == 1:
            self.queue.add(item)


@pytest.mark.parametrize("seed", range(20))
def test_items_that_come_together_are_processed_by_as_many_waiting_threads(seed: int) -> None:
    """One thread is notified of the first item; it must wake the next, although it is busy with its own item then."""
    with Simulation(seed) as sim:
        host = sim.host("r0")
        queue: WorkQueue[int] = WorkQueue(host)
        hands = Hands(host, queue, work=60.0)
        hands.start(4)
        sim.advance(1.0)

        for item in range(4):
            queue.add(item)
        sim.advance(1.0)

        assert sorted(hands.counts) == [0, 1, 2, 3]
        queue.shut_down()
        sim.advance(120.0)


@pytest.mark.scenario("WQ-01")
@BOTH
def test_nothing_added_after_the_shutdown_is_ever_handed_out(sim: Simulation, drain: bool) -> None:
    """With fifty producers and ten consumers, all threads end, and an item added too late is not handed out."""
    host = sim.host("r0")
    queue: WorkQueue[int] = WorkQueue(host)
    hands = Hands(host, queue, work=0.003)
    hands.start(10)
    producers = [host.spawn(f"p-{n}", lambda n=n: [queue.add(n) for _ in range(50)]) for n in range(50)]
    for producer in producers:
        assert producer.join_until(None)

    queue.shut_down(drain)
    queue.add(-1)
    sim.advance(60.0)

    assert sorted(hands.counts) == list(range(50))
    assert (sim.threads(), len(queue)) == ([], 0)


@pytest.mark.scenario("WQ-02")
@BOTH
def test_items_added_from_inside_their_own_processing_are_not_lost(drain: bool) -> None:
    """Each item that is added again while it is processed is handed out again, and no thread hangs."""
    for seed in range(10):
        with Simulation(seed) as sim:
            host = sim.host("r0")
            queue: WorkQueue[int] = WorkQueue(host)
            hands = Returning(host, queue)
            for n in range(50):
                queue.add(n)
            hands.start(10)
            sim.settle()

            queue.shut_down(drain)
            sim.settle()

            assert hands.counts == dict.fromkeys(range(50), 2)
            assert (sim.threads(), len(queue)) == ([], 0)


@pytest.mark.scenario("PQ-13")
@pytest.mark.scenario("PQ-27")
@pytest.mark.stress
@pytest.mark.parametrize("seed", range(20))
def test_random_work_is_neither_lost_nor_doubled(seed: int) -> None:
    """All items that are added at random come out, in either band, delayed or not, one consumer at a time."""
    with Simulation(seed) as sim:
        host = sim.host("r0")
        queue: WorkQueue[int] = WorkQueue(host)
        hands = Hands(host, queue, work=0.001)
        hands.start(20)

        def produce(chance: random.Random) -> None:
            for _ in range(50):
                if chance.random() < 0.1:
                    queue.add_after(chance.randrange(100), chance.random() * 0.009)
                else:
                    queue.add(chance.randrange(100), low=chance.random() < 0.5)

        added = [host.spawn(f"producer-{n}", lambda n=n: produce(random.Random(seed * 100 + n))) for n in range(10)]
        for producer in added:
            assert producer.join_until(None)
        sim.advance(60.0)

        counters = queue.counters()
        assert (len(queue), counters.depth, counters.low_depth, counters.unfinished_work) == (0, 0, 0, 0.0)
        assert sum(hands.counts.values()) == counters.adds
        queue.shut_down()


@pytest.mark.scenario("PQ-26")
@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10))
def test_a_shutdown_in_the_middle_of_work_releases_everybody(seed: int) -> None:
    """Threads that add and get in a loop all end once the queue is shut down."""
    with Simulation(seed) as sim:
        host = sim.host("r0")
        queue: WorkQueue[int] = WorkQueue(host)

        def churn(chance: random.Random) -> None:
            while True:
                queue.add(chance.randrange(10), low=chance.random() < 0.5)
                try:
                    queue.done(queue.get())
                except ShutDown:
                    return

        for n in range(20):
            host.spawn(f"churn-{n}", lambda n=n: churn(random.Random(n)))
        killer = host.spawn("killer", queue.shut_down)

        assert killer.join_until(None)
        sim.settle()

        assert sim.threads() == []


@pytest.mark.stress
def test_real_threads_agree_with_the_simulated_ones() -> None:
    host = SystemHost("real")
    queue: WorkQueue[int] = WorkQueue(host)
    hands = Returning(host, queue)
    for n in range(2000):
        queue.add(n, low=n % 2 == 0)
    threads = [host.spawn(f"consumer-{n}", hands._consume) for n in range(4)]

    queue.shut_down(drain=True)

    assert all(thread.join_until(host.monotonic() + 30.0) for thread in threads)
    # An addition that came before the shutdown was accepted; one that came after it was not.
    assert sum(hands.counts.values()) == queue.counters().adds
