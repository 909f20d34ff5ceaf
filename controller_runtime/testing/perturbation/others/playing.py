# SPDX-License-Identifier: Apache-2.0
"""Runs the plans of a story, one or several at a time, and repeats each one that fails with no other run beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.stop import Stop, spawn
from controller_runtime.testing.perturbation.calm_runs import CalmRuns
from controller_runtime.testing.perturbation.judging import Baseline, judge
from controller_runtime.testing.perturbation.others import sequences
from controller_runtime.testing.perturbation.others.calm import Calm
from controller_runtime.testing.perturbation.others.results import (
    Result,
    as_known,
    failed,
    had_its_fault,
    is_known,
    without_complaint,
)
from controller_runtime.testing.perturbation.others.trial import Trial
from controller_runtime.testing.perturbation.plans import Plan
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.unseen import other_orders
from controller_runtime.testing.perturbation.verdict import Verdict, not_compared


class _Played(NamedTuple):
    """One run of a plan, and its judgement."""

    trial: Trial
    verdict: Verdict
    seconds: float

    @property
    def is_perturbed(self) -> bool:
        """Whether the fault has happened, or was happening when the run ended; else it is not the cause of what is
        wrong.
        """
        return had_its_fault(self.trial.run, fired=self.trial.fired, has_begun=self.trial.is_perturbed)

    @property
    def shows_chance(self) -> bool:
        """Whether so much of the run differed before its fault that nothing can be said of the plan."""
        return self.is_perturbed and bool(self.verdict.differed) and not self.verdict.is_judged

    @property
    def has_failed(self) -> bool:
        """Whether the perturbation had a wrong effect."""
        return self.is_perturbed and bool(self.verdict.complaints)


class Player:
    """Runs plans and reports their results; a plan is one fault at one point of the run.

    Args:
        host: The host of the real machine.
        calm: The results of the runs without a fault.
        baseline: The known findings.
        say: Called with each line of the report.

    Attributes:
        results: The results so far.
        known: The entries of all failures for a baseline file.

    Threads: one for `play`.
    """

    def __init__(self, host: Host, calm: Calm, baseline: Sequence[dict[str, Any]], say: Callable[[str], None]) -> None:
        self._host, self._calm, self._baseline, self._say = host, calm, baseline, say
        # Guards what follows: plans are played on several threads.
        self._lock = host.lock("plans of a perturbed story")
        self._waiting: list[Plan] = []
        self._doubtful: list[tuple[Plan, _Played]] = []
        self._count = 0
        self._spared = 0.0  # seconds of further calm runs, which do not count
        self.results: list[Result] = []
        self.known: list[dict[str, Any]] = []

    def play(self, plans: Sequence[Plan], budget: float, jobs: int) -> int:
        """Run plans, and return the number of plans that are left out because the time is over.

        With several jobs, plans that fail are repeated once no other plan runs.

        Args:
            plans: The plans, in order.
            budget: Seconds after which no plan begins; runs without a fault that are made because a plan failed only by
                values do not count.
            jobs: The number of plans to run at a time.
        """
        began = self._host.monotonic()
        self._waiting, self._count = list(plans), len(plans)  # before any thread of the plans begins
        if jobs == 1:
            self._work(began, began + budget, is_alone=True)
        else:
            stop = Stop(self._host, "plans of a perturbed story")

            def work() -> None:
                self._work(began, began + budget, is_alone=False)

            for each in [spawn(self._host, stop, f"plans {number}", work) for number in range(jobs)]:
                each.join_until(None)
            if stop.failure is not None:
                raise stop.failure
            for plan, first in self._doubtful:  # the threads have ended, here and below
                self._note(self._confirmed(plan, first), began)
        return len(self._waiting)  # the threads have ended

    def _work(self, began: float, deadline: float, *, is_alone: bool) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._host.monotonic() > deadline + self._spared:
                    return
                plan = self._waiting.pop(0)
            first = self._play(plan)
            if first.shows_chance:
                again = self._play(plan, is_patient=True)
                first = again._replace(seconds=first.seconds + again.seconds)
            if first.verdict.differed and first.is_perturbed:
                self._say(f"{plan}: {not_compared(first.verdict.differed, 'this run differed before its fault')}")
            why = "" if first.is_perturbed else next(iter(first.trial.run.failures), "")
            if (found := without_complaint(plan, first.verdict, first.seconds, first.is_perturbed, why)) is not None:
                self._note(found, began)
            elif is_alone:
                self._note(self._confirmed(plan, first), began)
            else:
                with self._lock:
                    self._doubtful.append((plan, first))

    def _play(self, plan: Plan, *, is_patient: bool = False) -> _Played:
        """Run a plan once; with `is_patient` each rest is as long as those of the runs without a fault."""
        began = self._host.monotonic()
        calm, (runs, judge) = self._calm, self._judging(plan)
        settings = calm.settings.patient if is_patient else calm.settings
        if isinstance(plan, StateSequence):
            story = sequences.story_of(settings.story, self._calm.of(plan).primary, plan)
            goal = sequences.LastRest(runs.baseline, len(story.steps))
            trial = Trial(self._host, attrs.evolve(settings, story=story), goal)
            run = trial.make()
            trial.fired = story.steps[-1] not in trial.refused[-1:]
        else:
            trial = Trial(self._host, settings, runs.baseline, plan)
            run = trial.make()
        verdict = judge(runs.baseline, run)
        with self._lock:
            runs.add_begun(run)
        return _Played(trial, verdict, self._host.monotonic() - began)

    def _judging(self, plan: Plan) -> tuple[CalmRuns, Callable[[Baseline, Run], Verdict]]:
        """Return the unperturbed runs beside which a plan is judged, and how."""
        if isinstance(plan, StateSequence):
            return self._calm.of(plan).runs, sequences.judge
        return self._calm.runs, judge

    def _confirmed(self, plan: Plan, first: _Played) -> Result:
        """Play a plan that has failed again, and a third time if it does not fail then; return the result of all runs.

        The user acts sooner in the first run than in those without a fault, and so a race of the operator may show; not
        in these.

        Before that, it is judged by more unperturbed runs if it fails by values alone, and next to stories that the
        operator could not tell from this one, if there are any.
        """
        runs, judge = self._judging(plan)
        self._make_sure(plan, first)
        verdict = judge(self._or_else(plan, runs.baseline), first.trial.run)
        if (excused := without_complaint(plan, verdict, first.seconds)) is not None:
            return excused
        plan, first = self._smaller(plan, first)
        played = [first, self._play(plan, is_patient=True)]
        if not played[-1].has_failed:
            played.append(self._play(plan, is_patient=True))
        shown = [each for each in played if each.has_failed][-1]
        counts = sum(each.is_perturbed for each in played), sum(each.has_failed for each in played)
        seconds = sum(each.seconds for each in played)
        found = failed(plan, shown.trial, self._calm.told(plan), shown.verdict.complaints, *counts, seconds)
        entry = as_known(found, shown.trial.trigger)
        with self._lock:
            self.known.append(entry)
        return attrs.evolve(found, status="known") if is_known(entry, self._baseline) else found

    def _smaller(self, plan: Plan, first: _Played) -> tuple[Plan, _Played]:
        """Return a sequence with one state that fails like a given one, and its run; else the given ones."""
        for each in sequences.shorter(self._calm.of(plan).primary, plan) if isinstance(plan, StateSequence) else ():
            played = self._play(each)
            if played.has_failed:
                return each, played
        return plan, first

    def _make_sure(self, plan: Plan, first: _Played) -> None:
        """Make more unperturbed runs, unless they are made, if a run differs from those and that may be chance."""
        runs, judge = self._judging(plan)
        if runs.doubts(first.verdict):
            began = self._host.monotonic()
            self._say("calm: more runs, to see whether they differ as the plan that has failed")
            baseline = runs.complete(lambda learned: not judge(learned, first.trial.run).complaints)
            if baseline.not_compared:
                self._say(f"calm: {baseline.not_compared}")
            with self._lock:
                self._spared += self._host.monotonic() - began

    def _or_else(self, plan: Plan, baseline: Baseline) -> Baseline:
        """Return the results of the unperturbed runs, and of other orders of the story that are right under a plan."""
        calm, runs = self._calm, list[Run]()
        story = calm.settings.story
        for order in other_orders(plan, calm.baseline.run, len(story.acts)):
            settings = attrs.evolve(calm.settings, story=story.in_order(order))
            with suppress(UsageError):  # the server refuses the steps in this order
                runs.append(Trial(self._host, settings).make())
        return baseline.or_else(runs)

    def _note(self, result: Result, began: float) -> None:
        """Keep a result and tell it, with how many there are and how long the rest may take."""
        with self._lock:
            self.results.append(result)
            done = len(self.results)
            left = (self._host.monotonic() - began) / done * (self._count - done)
            lines = [f"[{done}/{self._count}] {result}", *(f"  {each}" for each in result.details if result.failures)]
        for each in lines:
            self._say(each)
        if done < self._count and done % _TOLD == 0:
            self._say(f"about {left / 60:.0f} min left" if left > 90 else f"about {left:.0f} s left")


_TOLD = 5
"""The number of plans after which the estimated remaining time is printed."""
