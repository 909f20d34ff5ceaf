# SPDX-License-Identifier: Apache-2.0
"""The work queue and the counts of reconciles among real threads: no item twice at a time, and nothing lost."""

from __future__ import annotations

import itertools
import random
from functools import partial

import pytest
from kit.crowd import together

from apimachinery.errors import ShutDown
from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from controller_runtime.controller.counters import Outcome, ReconcileTally
from controller_runtime.queue.causes import Causes
from controller_runtime.queue.workqueue import WorkQueue

pytestmark = pytest.mark.ends

ITEMS, ROUNDS, HANDS, PASSES, RECONCILES = 40, 1_000, 4, 30, 3_000


class Worked:
    """The version of each item that producers want, and the one that consumers have seen.

    `wanted` of one item is written by one producer, and `seen` by the one consumer that has the item.
    """

    def __init__(self, queue: WorkQueue[int], items: int) -> None:
        self.queue = queue
        self.wanted, self.seen, self.held = [0] * items, [0] * items, [0] * items
        self.turns = [0] * HANDS

    def produce(self, number: int) -> None:
        chance = random.Random(number)
        for round_number in range(1, ROUNDS + 1):
            item = chance.randrange(number, len(self.wanted), HANDS)
            self.wanted[item] = round_number
            match chance.randrange(8):
                case 0:
                    self.queue.add_after(item, 0.001 * chance.random(), cause="later")
                case 1:
                    self.queue.add_rate_limited(item)
                case 2:
                    self.queue.forget(item)
                    self.queue.add(item, low=True, cause="low")
                case _:
                    self.queue.add(item, cause="changed")

    def consume(self, number: int) -> None:
        try:
            item = self.queue.get()
            while True:
                self.held[item] += 1
                assert self.held[item] == 1, f"{item} is processed twice at a time"
                self.seen[item] = self.wanted[item]
                assert isinstance(self.queue.causes(item), Causes)
                self.queue.forget(item)
                self.turns[number] += 1
                self.held[item] -= 1
                item = self.queue.done_and_get(item)
        except ShutDown:
            return

    def watch(self) -> None:
        for _ in range(ROUNDS // 10):
            counters = self.queue.counters()
            assert counters.queue_duration.count - counters.work_duration.count <= HANDS
            assert len(self.queue.turns(1_000)) <= len(self.wanted) + HANDS
            len(self.queue)


@pytest.mark.parametrize("fair", [False, True], ids=["plain", "fair"])
def test_each_item_is_in_one_hand_and_its_last_change_is_seen(fair: bool) -> None:
    queue: WorkQueue[int] = WorkQueue(SystemHost(), fair_by=(lambda item: item % 3) if fair else None)
    work = Worked(queue, ITEMS)

    def produce() -> None:
        together(*(partial(work.produce, number) for number in range(HANDS)), work.watch)
        for item in range(ITEMS):  # `shut_down` drops what is delayed
            queue.add(item)
        queue.shut_down(drain=True)

    together(produce, *(partial(work.consume, number) for number in range(HANDS)))

    counters = queue.counters()
    assert work.seen == work.wanted
    assert sum(work.turns) == counters.queue_duration.count == counters.work_duration.count
    assert (counters.depth, counters.low_depth, counters.unfinished_work) == (0, 0, 0.0)


def test_each_reconcile_is_counted_once() -> None:
    tally, numbers = ReconcileTally(SystemHost(), "c"), [list[int]() for _ in range(HANDS)]

    def reconcile(worker: int) -> None:
        for number in range(RECONCILES):
            request = ObjectKey(f"{worker}-{number % 7}")
            numbers[worker].append(tally.begin(request))
            outcome = Outcome.ERROR if number % 10 == 0 else Outcome.SUCCESS
            tally.end(outcome, 0.001, (request, 0.0, Causes()), is_late=number % 4 == 0)

    def read() -> None:
        before = 0
        for _ in range(ROUNDS):
            counters = tally.snapshot()
            assert before <= counters.reconciles == counters.durations.count
            assert counters.active_workers <= HANDS
            before = counters.reconciles

    together(*(partial(reconcile, worker) for worker in range(HANDS)), read, lambda: [tally.last() for _ in range(99)])

    counters = tally.snapshot()
    assert sorted(itertools.chain.from_iterable(numbers)) == [*range(1, HANDS * RECONCILES + 1)]
    assert (counters.reconciles, counters.errors, counters.timeouts) == (12_000, 1_200, 3_000)
    assert counters.active_workers == 0


def test_a_condition_loses_no_wake_up() -> None:
    """A buffer of one place: each of its threads sleeps until another one has acted."""
    host = SystemHost()
    condition, place, got = host.condition("place"), list[int](), list[int]()

    def put(number: int) -> None:
        for each in range(PASSES):
            with condition:
                while place:
                    condition.wait_until(None)
                place.append(number * ROUNDS + each)
                condition.notify_all()

    def get() -> None:
        for _ in range(PASSES):
            with condition:
                while not place:
                    condition.wait_until(host.monotonic() + 60.0)
                got.append(place.pop())
                condition.notify_all()

    together(*(partial(put, number) for number in range(3)), *[get] * 3)

    assert sorted(got) == [number * ROUNDS + each for number in range(3) for each in range(PASSES)]
