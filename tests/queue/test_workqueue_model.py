# SPDX-License-Identifier: Apache-2.0
"""The queue against a model: no item is lost or processed twice at a time, sooner wins, bands keep their order."""

from __future__ import annotations

import random

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from apimachinery.errors import ShutDown
from controller_runtime.queue.turns import LOW_SHARE
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.ends

ITEMS = st.integers(0, 4)
# Dyadic, so that sums of floats are exact.
SPANS = st.integers(0, 64).map(lambda n: n / 16)


@attrs.define
class Planned:
    """One future hand-out: its due time, its band, and its number in the order of those that are due together."""

    due: float
    low: bool
    number: int


class QueueModel(RuleBasedStateMachine):
    """Adds, waits, gets and ends items at random, and compares the queue with the model."""

    def __init__(self) -> None:
        super().__init__()
        self.simulation = Simulation(0, switch_chance=0.0)
        self.simulation.__enter__()
        self.queue: WorkQueue[int] = WorkQueue(self.simulation.host("r0"))
        self.planned: dict[int, Planned] = {}
        self.held: dict[int, bool] = {}  # item, and whether it came from the low band
        self.number = 0
        self.passed_over = 0
        self.shut = False

    def teardown(self) -> None:
        self.simulation.__exit__(None, None, None)

    @property
    def now(self) -> float:
        return self.simulation.time

    def ready(self) -> set[int]:
        return {item for item, plan in self.planned.items() if plan.due <= self.now and item not in self.held}

    def plan(self, item: int, due: float, low: bool) -> None:
        if self.shut:
            return
        self.number += 1
        plan = self.planned.setdefault(item, Planned(due, low, self.number))
        if due < plan.due:
            plan.due, plan.number = due, self.number
        elif plan.low and not low and plan.due <= self.now:  # raised: to the end of the other band
            plan.due, plan.number = self.now, self.number
        plan.low = plan.low and low

    def first(self, *, low: bool) -> int | None:
        """Return the item of a band that was added, or fell due, first, of those that are not being processed."""
        band = [item for item in self.ready() if self.planned[item].low is low]
        return min(band, key=lambda item: (self.planned[item].due, self.planned[item].number), default=None)

    @rule(item=ITEMS, low=st.booleans())
    def add(self, item: int, low: bool) -> None:
        self.queue.add(item, low=low)
        self.plan(item, self.now, low)

    @rule(item=ITEMS, delay=SPANS)
    def add_after(self, item: int, delay: float) -> None:
        self.queue.add_after(item, delay)
        self.plan(item, self.now + delay, self.held.get(item, False))

    @rule(seed=st.integers(0, 99), times=st.integers(64, 192))
    def bring_many_forward(self, seed: int, times: int) -> None:
        """Supersede so many due times that the queue sweeps them, while these items and others wait."""
        chance = random.Random(seed)
        for n in range(times):
            self.add_after(chance.randrange(200, 212), 4.0 - n / 64)

    @rule(seconds=SPANS)
    def wait(self, seconds: float) -> None:
        self.simulation.advance(seconds)

    @precondition(lambda self: self.ready())
    @rule()
    def get(self) -> None:
        low, normal = self.first(low=True), self.first(low=False)
        is_low_turn = low is not None and (normal is None or self.passed_over == LOW_SHARE - 1)

        item = self.queue.get()

        assert item == (low if is_low_turn else normal)
        self.passed_over = 0 if is_low_turn or low is None else self.passed_over + 1
        self.held[item] = self.planned.pop(item).low

    @rule(hand_outs=st.integers(1, 2 * LOW_SHARE))
    def be_busy(self, hand_outs: int) -> None:
        for n in range(hand_outs):
            self.add(100 + n, False)
            if self.ready():
                self.get()
        for item in [item for item in self.held if item >= 100]:
            self.queue.done(item)
            del self.held[item]

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(sorted(self.held)))

        self.queue.done(item)

        del self.held[item]

    @precondition(lambda self: self.shut and not self.ready())
    @rule()
    def learn_of_the_end(self) -> None:
        with pytest.raises(ShutDown):
            self.queue.get()

    @precondition(lambda self: len(self.held) + len(self.planned) > 5)
    @rule()
    def shut_down(self) -> None:
        self.queue.shut_down()
        self.shut = True
        self.planned = {item: plan for item, plan in self.planned.items() if plan.due <= self.now}

    @invariant()
    def nothing_is_lost_and_nothing_made_up(self) -> None:
        counters = self.queue.counters()
        due = [plan.low for plan in self.planned.values() if plan.due <= self.now]

        assert len(self.queue) == len(self.ready())
        assert (counters.depth, counters.low_depth) == (due.count(False), due.count(True))
        assert counters.work_duration.count + len(self.held) == counters.queue_duration.count


TestQueueModel = QueueModel.TestCase
TestQueueModel.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
