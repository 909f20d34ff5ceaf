# SPDX-License-Identifier: Apache-2.0
"""The calm runs of one story: a few at first, and more before a plan that differs from them counts as failed.

A value with two equally likely states is the same in three calm runs with probability 1/4, and then a plan in which it
is the other one would fail. It is the same in `RUNS` calm runs with probability 1/128.

A further run that has other objects shows nothing: that is no value, and more likely the fault that plans look for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller_runtime.testing.perturbation.judging import Baseline, Verdict, learn
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.relations import RUNS


class CalmRuns:
    """The calm runs of one story, and what they have in common.

    Args:
        runs: The first ones, at least one.
        again: Makes another one, given its number from 0; returns None if it shows nothing, because it failed.

    Attributes:
        baseline: The results that the runs so far have in common.

    Threads: one.
    """

    def __init__(self, runs: Sequence[Run], again: Callable[[int], Run | None]) -> None:
        self._runs, self._again = [*runs], again
        self._next = len(runs)
        self._first = self.baseline = learn(runs)

    def complete(self, is_enough: Callable[[Baseline], bool] = lambda _: False) -> Baseline:
        """Make the runs that are left up to `RUNS`, or until what all have in common is enough, and return that."""
        while self._next < RUNS and not is_enough(self.baseline):
            made = self._again(self._next)
            self._next += 1
            if made is not None and not self._first.has_other_objects(made):
                self._runs.append(made)
                self.baseline = learn(self._runs)
        return self.baseline

    def doubts(self, verdict: Verdict | None) -> bool:
        """Return whether a plan failed by nothing but values that may differ in further calm runs, too."""
        return self._next < RUNS and verdict is not None and verdict.differs_alone
