# SPDX-License-Identifier: Apache-2.0
"""Runs one test calm, and then once for each plan."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from controller_runtime.testing.perturbation import items
from controller_runtime.testing.perturbation.plans import Plan, Planned, plan
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.report import Script
from controller_runtime.testing.perturbation.session import Session
from controller_runtime.testing.perturbation.summary import Summary
from controller_runtime.testing.perturbation.world import Name, varying


@attrs.frozen
class Options:
    """The options of `--perturb`.

    Attributes:
        patterns: The patterns to try.
        budget: Real seconds for the plans of one test, from its first; later plans are left out.
        script: The single plan to run, and its test; None for all.
        folder: The directory that pytest was started in.
    """

    patterns: Sequence[str]
    budget: float
    script: Script | None = None
    folder: Path = attrs.field(factory=Path)


class Runner:
    """Runs one test through all its plans.

    Args:
        item: The test.
        nextitem: The test after it, for pytest.
        options: The options.

    Attributes:
        summary: What became of the test.
    """

    def __init__(self, item: pytest.Function, nextitem: pytest.Item | None, options: Options) -> None:
        self._item = item
        self._nextitem = nextitem
        self._options = options
        self.summary = Summary(item.nodeid)

    def run(self) -> None:
        """Run the test, and then its plans."""
        began = time.monotonic()
        calm = Session()
        passed = items.run_once(self._item, self._item.nodeid, calm)
        self.summary.refusal = calm.refusal
        try:
            if calm.is_attached and not calm.refusal and not self._must_stop():
                self._learn(calm, passed=passed)
        finally:
            items.tear_down(self._item, self._nextitem)
            self.summary.seconds = time.monotonic() - began

    def _learn(self, calm: Session, *, passed: bool) -> None:
        if not passed or not calm.run.rests:
            self.summary.refusal = "" if passed else "it does not pass without a perturbation"
            return
        again = Session(seed=1)
        if not self._once("calm, with another seed", again, reported="failures") or not again.run.rests:
            self.summary.refusal = "it does not pass with another seed"
            return
        planned = self._plans(calm.run)
        self.summary.possible, self.summary.pruned = planned.possible, planned.pruned
        self._perturb(calm.run, planned.plans, varying(calm.run.rests[-1], again.run.rests[-1]))

    def _plans(self, calm: Run) -> Planned:
        script = self._options.script
        return plan(calm, self._options.patterns) if script is None else Planned([script.plan], 1)

    def _perturb(self, calm: Run, plans: list[Plan], ignored: frozenset[tuple[Name, str]]) -> None:
        deadline = time.monotonic() + self._options.budget
        for number, each in enumerate(plans):
            if time.monotonic() > deadline:
                self.summary.left = len(plans) - number
                return
            session = Session(calm=calm, plan=each, ignored=ignored)
            passed = self._once(str(each), session)
            self.summary.run += 1
            self.summary.void += session.is_void or (passed and not session.fired)
            self.summary.failed += not passed
            if self._must_stop():
                return

    def _once(self, what: str, session: Session, *, reported: str = "all") -> bool:
        return items.run_once(items.named(self._item, what), self._item.nodeid, session, reported=reported)

    def _must_stop(self) -> bool:
        """Return whether pytest wants to end, as after the first failure with `-x`."""
        return bool(self._item.session.shouldfail or self._item.session.shouldstop)
