# SPDX-License-Identifier: Apache-2.0
"""The queue against a model of itself: never lost, never twice at once, sooner wins, the low band never starves."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controller_runtime.core.errors import ShutDown
from controller_runtime.queue.turns import LOW_SHARE
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import Simulation

ITEMS = st.integers(0, 4)
# Dyadic, so that sums of floats are exact.
SPANS = st.integers(0, 64).map(lambda n: n / 16)


@attrs.define
class Planned:
    """What the model knows of one future hand-out."""

    due: float
    low: bool


class QueueModel(RuleBasedStateMachine):
    """Adds, waits, takes and gives back at random, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.simulation = Simulation(0, switch_chance=0.0)
        self.simulation.__enter__()
        self.queue: WorkQueue[int] = WorkQueue(self.simulation.host("r0"))
        self.planned: dict[int, Planned] = {}
        self.held: dict[int, bool] = {}  # item, and whether it came from the low band
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
        plan = self.planned.setdefault(item, Planned(due, low))
        plan.due, plan.low = min(plan.due, due), plan.low and low

    @rule(item=ITEMS, low=st.booleans())
    def add(self, item: int, low: bool) -> None:
        self.queue.add(item, low=low)
        self.plan(item, self.now, low)

    @rule(item=ITEMS, delay=SPANS)
    def add_after(self, item: int, delay: float) -> None:
        self.queue.add_after(item, delay)
        self.plan(item, self.now + delay, self.held.get(item, False))

    @rule(seconds=SPANS)
    def wait(self, seconds: float) -> None:
        self.simulation.advance(seconds)

    @precondition(lambda self: self.ready())
    @rule()
    def get(self) -> None:
        ready = self.ready()
        lows = {item for item in ready if self.planned[item].low}

        item = self.queue.get()

        assert item in ready
        low = self.planned.pop(item).low
        self.passed_over = 0 if low or not lows else self.passed_over + 1
        assert self.passed_over < LOW_SHARE, "the low band starves"
        self.held[item] = low

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
