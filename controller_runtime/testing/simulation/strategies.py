# SPDX-License-Identifier: Apache-2.0
"""Two strategies that choose the next thread; both draw from the seed.

A uniform choice finds most races; priorities that seldom change find the schedules in which one thread is held back for
long. Neither starves a thread forever.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Sequence

from controller_runtime.testing.simulation.tasks import Task

Choose = Callable[[Sequence[Task]], int]
"""Called with the tasks that can run; returns the index of the one to run."""


class Strategy(enum.Enum):
    """A way to choose the next thread."""

    UNIFORM = "uniform"
    PRIORITIES = "priorities"


def strategy_of(chance: random.Random) -> Strategy:
    """Draw a strategy: `PRIORITIES` with a probability of 1/4, otherwise `UNIFORM`."""
    return Strategy.PRIORITIES if chance.random() < 0.25 else Strategy.UNIFORM


def chooser(strategy: Strategy, chance: random.Random) -> Choose:
    """Return the function that chooses by `strategy`, drawing from `chance`."""
    match strategy:
        case Strategy.UNIFORM:
            return lambda ready: int(chance.random() * len(ready))
        case Strategy.PRIORITIES:
            return _Priorities(chance).choose


class _Priorities:
    """Runs the task of the highest priority; now and then gives it the lowest (probabilistic concurrency testing)."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._rate = chance.choice((0.01, 0.05, 0.2))
        self._lowest = 0.0

    def choose(self, ready: Sequence[Task]) -> int:
        first = self._first(ready)
        if self._chance.random() >= self._rate:
            return first
        self._lowest -= 1.0
        ready[first].priority = self._lowest
        return self._first(ready)

    @staticmethod
    def _first(ready: Sequence[Task]) -> int:
        return max(range(len(ready)), key=lambda index: ready[index].priority)
