# SPDX-License-Identifier: Apache-2.0
"""Runs one test calm, and then once for each plan, as items of their own with fresh fixtures."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from _pytest.runner import runtestprotocol

from controller_runtime.testing.perturbation import ambient
from controller_runtime.testing.perturbation.judging import complaints
from controller_runtime.testing.perturbation.plans import Plan, Planned, from_json, plan, to_json
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.session import Session
from controller_runtime.testing.perturbation.world import Name, varying

SCRIPTS = ".perturb"
"""The folder for the plans of failures, in the directory that pytest was started in."""


@attrs.frozen
class Options:
    """The options of `--perturb`.

    Attributes:
        patterns: The patterns to try.
        budget: Real seconds for the plans of one test, from its first; later plans are left out.
        script: The file of a single plan to run; None for all.
    """

    patterns: Sequence[str]
    budget: float
    script: Path | None = None


@attrs.define
class Summary:
    """What became of one test.

    Attributes:
        nodeid: The test.
        refusal: Why it was not perturbed; empty if it was.
        possible: How many plans there are.
        pruned: How many were left out, because others show the same.
        run: How many were run.
        void: How many of them could not be carried out to the end.
        failed: How many failed.
        left: How many the budget left out.
    """

    nodeid: str
    refusal: str = ""
    possible: int = 0
    pruned: int = 0
    run: int = 0
    void: int = 0
    failed: int = 0
    left: int = 0

    def __str__(self) -> str:
        if self.refusal:
            return f"{self.nodeid}: not perturbed: {self.refusal}"
        text = (
            f"{self.nodeid}: {self.possible} plans, {self.pruned} of them alike, {self.run} run, {self.failed} failed"
        )
        if self.void:
            text += f", {self.void} could not happen"
        if self.left:
            text += f", {self.left} left out by --perturb-budget"
        return text


class Runner:
    """Runs one test through all its plans.

    Args:
        item: The test.
        nextitem: The test after it, for pytest.
        options: The options.
    """

    def __init__(self, item: pytest.Function, nextitem: pytest.Item | None, options: Options) -> None:
        self._item = item
        self._nextitem = nextitem
        self._options = options
        self.summary = Summary(item.nodeid)

    def run(self) -> None:
        """Run the test, and then its plans."""
        calm = Session()
        passed = self._once(self._item, calm)
        if not calm.is_attached and not calm.refusal:
            return
        self.summary.refusal = calm.refusal or ("" if passed else "it fails without a perturbation")
        if self.summary.refusal:
            return
        again = Session(seed=1)
        self._once(self._named("calm, with another seed"), again, only_failures=True)
        ignored = varying(calm.run.rests[-1], again.run.rests[-1]) if again.run.rests else frozenset()
        planned = self._plans(calm.run)
        self.summary.possible, self.summary.pruned = planned.possible, planned.pruned
        self._perturb(calm.run, planned.plans, ignored)

    def _plans(self, calm: Run) -> Planned:
        if self._options.script is None:
            return plan(calm, self._options.patterns)
        script = json.loads(self._options.script.read_text(encoding="utf-8"))
        return Planned([from_json(script["plan"])] if script["test"] == self._item.nodeid else [], 1)

    def _perturb(self, calm: Run, plans: list[Plan], ignored: frozenset[tuple[Name, str]]) -> None:
        deadline = time.monotonic() + self._options.budget
        for number, each in enumerate(plans):
            if time.monotonic() > deadline:
                self.summary.left = len(plans) - number
                return
            session = Session(calm=calm, plan=each, ignored=ignored)
            passed = self._once(self._named(str(each)), session)
            self.summary.run += 1
            self.summary.void += session.is_void or (passed and not session.fired)
            self.summary.failed += not passed

    def _once(self, item: pytest.Function, session: Session, *, only_failures: bool = False) -> bool:
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        ambient.session = session
        try:
            reports = runtestprotocol(item, nextitem=self._nextitem, log=False)
        finally:
            ambient.session = None
        passed = all(report.passed for report in reports)
        if not only_failures or not passed:
            for report in reports:
                hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return passed

    def _named(self, what: str) -> pytest.Function:
        """Return a fresh item of the same test."""
        item = self._item
        made: pytest.Function = pytest.Function.from_parent(
            item.parent,
            name=f"{item.name}[{what}]",
            callspec=getattr(item, "callspec", None),
            fixtureinfo=item._fixtureinfo,
            originalname=item.originalname,
        )
        return made


def judge(session: Session) -> list[str]:
    """Return what a perturbed run that has ended did and a correct program would not have done."""
    if session.calm is None or session.plan is None or session.is_void or not session.fired:
        return []
    return complaints(session.calm, session.run, session.ignored)


def report(session: Session, nodeid: str, folder: Path, found: Sequence[str]) -> str:
    """Return the text for a failure, and write the file that replays it."""
    assert session.plan is not None, "a calm run has no plan"
    plan = session.plan
    test = nodeid.partition("[")[0]
    script = folder / SCRIPTS / f"{test.rpartition('::')[2]}-{str(plan).replace(' ', '-').replace('/', '-')}.json"
    script.parent.mkdir(exist_ok=True)
    script.write_text(json.dumps({"test": test, "plan": to_json(plan)}) + "\n", encoding="utf-8")
    lines = [f"{plan.pattern} ({plan.grade}): {plan}", *(f"  {each}" for each in found[:8])]
    lines += [f"  and {len(found) - 8} more"] if len(found) > 8 else []
    lines.append(f"remedy: {plan.remedy}")
    lines.append(f"replay: pytest {test} --perturb-script={script.relative_to(folder)}")
    return "\n".join(lines)
