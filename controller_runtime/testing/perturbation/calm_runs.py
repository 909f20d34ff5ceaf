# SPDX-License-Identifier: Apache-2.0
"""The unperturbed runs of one test: a few at first, and more if values differ or a plan fails only by values.

A value with two equally likely states is the same in three unperturbed runs with probability 1/4, and then a perturbed
run in which it has the other state would fail. It is the same in `RUNS` runs with probability 1/128.

A further unperturbed run with other objects is ignored: a missing object is no random value, but more likely the fault
that is searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller_runtime.testing.perturbation.judging import Baseline, learn
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.relations import RUNS
from controller_runtime.testing.perturbation.verdict import Verdict


class CalmRuns:
    """The unperturbed (calm) runs of one test, and the results that they have in common.

    Further runs that fail or have other objects are counted, but their results are left out.

    Args:
        runs: The first runs, at least one.
        again: Makes another run, given its number from 0; returns its record, or None if the run failed.

    Attributes:
        baseline: The results that the runs so far have in common.

    Threads: one.
    """

    def __init__(self, runs: Sequence[Run], again: Callable[[int], Run | None]) -> None:
        self._runs, self._again, self._begun = [*runs], again, list[Run]()
        self._next = len(runs)
        self._first = self.baseline = learn(runs)

    def complete(self, is_enough: Callable[[Baseline], bool] = lambda _: False) -> Baseline:
        """Make more runs, up to `RUNS` in all, and return the results that they have in common.

        Args:
            is_enough: Called with the common results before each run; no further run is made once it returns True.
        """
        while self._next < RUNS and not is_enough(self.baseline):
            made = self._again(self._next)
            self._next += 1
            if made is not None and not self._first.has_other_objects(made):
                self._runs.append(made)
                self.baseline = learn(self._runs, self._begun)
        return self.baseline

    def add_begun(self, run: Run) -> None:
        """Learn from the beginning of a perturbed run, which is unperturbed until its fault, if it shows new values.

        Nothing is learned from other objects: as in a further unperturbed run they are no random values.
        """
        differed = self.baseline.differed(run)
        if differed and all(path for _, path in differed):
            self._begun.append(run)
            self.baseline = learn(self._runs, self._begun)

    def doubts(self, verdict: Verdict | None) -> bool:
        """Return whether a plan failed only by values, which may turn out to differ between unperturbed runs as well.

        False once `RUNS` runs have been made.
        """
        return self._next < RUNS and verdict is not None and verdict.differs_alone
