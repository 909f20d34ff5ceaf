# SPDX-License-Identifier: Apache-2.0
"""Runs one test several times without a fault, and then with each plan, which is one fault at one point."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from apimachinery.system import SystemHost
from controller_runtime.testing.perturbation import items
from controller_runtime.testing.perturbation.calm_runs import CalmRuns
from controller_runtime.testing.perturbation.judging import judge as compare
from controller_runtime.testing.perturbation.options import Options, Script
from controller_runtime.testing.perturbation.planning import plan
from controller_runtime.testing.perturbation.plans import Plan
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.resting import DWELL
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.session import Session
from controller_runtime.testing.perturbation.smallest import Case, parts, smallest
from controller_runtime.testing.perturbation.summary import Summary


class Runner:
    """Runs one test and all its plans.

    Args:
        item: The test.
        nextitem: The test after it, for pytest; None after the last.
        options: The options.

    Attributes:
        summary: The result of the test.
    """

    def __init__(self, item: pytest.Function, nextitem: pytest.Item | None, options: Options) -> None:
        self._item = item
        self._nextitem = nextitem
        self._options = options
        self.summary = Summary(item.nodeid)
        self._clock = SystemHost().monotonic  # a budget is in real seconds
        self._shrunk: set[type[Plan]] = set()

    def run(self) -> None:
        """Run the test without a fault, and then again with each perturbation, within the budget of the options."""
        began = self._clock()
        calm = Session()
        passed = self._run(self._item, calm)
        self.summary.refusal = calm.refusal
        try:
            if calm.is_attached and not calm.refusal and not self._must_stop():
                self._learn(calm, passed=passed)
        finally:
            items.tear_down(self._item, self._nextitem)
            self.summary.seconds = self._clock() - began

    def _learn(self, calm: Session, *, passed: bool) -> None:
        if not passed or not calm.run.rests:
            self.summary.refusal = "" if passed else "it does not pass without a perturbation"
            return
        item, again, reports = self._calm_again(Session(seed=1))
        if again is None:
            items.publish(item, self._item.nodeid, reports)
            self.summary.refusal = "it does not pass with another seed"
            return
        # Longer rests may be too long for the test's own checks: then a third seed is all that is learned.
        _, third, _ = self._calm_again(Session(seed=2, dwell=DWELL))
        _, third, _ = (item, third, reports) if third is not None else self._calm_again(Session(seed=2))
        runs = [calm.run, again.run, *([] if third is None else [third.run])]
        made = CalmRuns(runs, self._calm_run)
        if made.baseline.needs_more_runs:
            made.complete()
        script = self._options.script
        if script is not None:
            self._replay(made, script)
        else:
            planned = plan(calm.run, self._options.patterns)
            self.summary.possible, self.summary.pruned = planned.possible, planned.pruned
            if self._options.lists:
                self.summary.listed = [str(each) for each in planned.plans]
            else:
                self._perturb(made, planned.plans)
        self.summary.not_compared = made.baseline.not_compared

    def _calm_run(self, seed: int) -> Run | None:
        session = self._calm_again(Session(seed=seed))[1]
        return None if session is None else session.run

    def _calm_again(self, session: Session) -> tuple[pytest.Function, Session | None, Sequence[pytest.TestReport]]:
        """Make another unperturbed run; return its item, the session if it passes, and its reports."""
        item = items.named(self._item, "calm, with another seed")
        reports = items.run_once(item, session)
        return item, session if _passed(reports) and session.run.rests else None, reports

    def _replay(self, runs: CalmRuns, script: Script) -> None:
        calm = whole = runs.baseline
        if script.story is not None:
            shorter = Session(told=parts(whole.run, script.story))
            items.run_once(items.named(self._item, "calm, with a shorter story"), shorter)
            calm = whole.shorter(shorter.run)
        self.summary.possible = 1
        self._try(runs, Case(calm, script.plan, script.story), str(script.plan))

    def _perturb(self, runs: CalmRuns, plans: list[Plan]) -> None:
        deadline = self._clock() + self._options.budget
        for number, each in enumerate(plans):
            if self._clock() > deadline:
                self.summary.left = len(plans) - number
                return
            self._try(runs, Case(runs.baseline, each), str(each))
            if self._must_stop():
                return

    def _try(self, runs: CalmRuns, case: Case, what: str) -> None:
        """Run a plan and report it; the first failing plan of each kind with the smallest story for which it fails.

        A plan that fails by values alone is judged by more unperturbed runs before.
        """
        whole = runs.baseline.run
        case = case.or_else(whole, lambda tried: self._passes(tried, "calm, in another order"))
        item, session = items.named(self._item, what), case.session(whole)
        reports = items.run_once(item, session)
        if runs.doubts(session.verdict):
            case = case.expecting(runs.complete())
            if not compare(case.calm, session.run).complaints:
                item, session = items.named(self._item, what), case.session(whole)
                reports = items.run_once(item, session)
        failed = _failed(reports)
        self.summary.run += 1
        self.summary.void += not failed and not session.fired
        self.summary.unjudged += not failed and session.verdict is not None and not session.verdict.is_judged
        self.summary.failed += failed
        kind = type(case.plan)
        if failed and session.fired and case.kept is None and kind not in self._shrunk | {StateSequence}:
            self._shrunk.add(kind)
            shorter = smallest(case, lambda tried: self._passes(tried, what), self._clock)
            if shorter.kept is not None:
                again = items.named(self._item, what)
                told = items.run_once(again, shorter.session(whole))
                item, reports = (again, told) if _failed(told) else (item, reports)
        items.publish(item, self._item.nodeid, reports)

    def _passes(self, session: Session, what: str) -> bool:
        return not _failed(items.run_once(items.named(self._item, what), session))

    def _run(self, item: pytest.Function, session: Session) -> bool:
        reports = items.run_once(item, session)
        items.publish(item, self._item.nodeid, reports)
        return _passed(reports)

    def _must_stop(self) -> bool:
        """Return whether pytest wants to end, as after the first failure with `-x`."""
        return bool(self._item.session.shouldfail or self._item.session.shouldstop)


def _failed(reports: Sequence[pytest.TestReport]) -> bool:
    return any(report.failed for report in reports)


def _passed(reports: Sequence[pytest.TestReport]) -> bool:
    return all(report.passed for report in reports)
