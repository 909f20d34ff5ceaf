# SPDX-License-Identifier: Apache-2.0
"""Finds the fewest actions of a test with which a plan still fails, by leaving out one step after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from controller_runtime.testing.perturbation.judging import Baseline
from controller_runtime.testing.perturbation.planning import plan
from controller_runtime.testing.perturbation.plans import Crash, Lag, Missed, OutsideFault, Plan
from controller_runtime.testing.perturbation.record import Landed, Run, Told
from controller_runtime.testing.perturbation.session import Session
from controller_runtime.testing.perturbation.unseen import other_orders, parts_in

MOST_STORIES = 12
MOST_PLANS = 6
"""The most shorter tests that are tried, and the most plans for each; each needs one run."""

MOST_SECONDS = 10.0
"""Real seconds after which no shorter test is tried."""


@attrs.frozen
class Case:
    """A plan, which is one fault at one point, and the actions of a test with which it fails.

    Attributes:
        calm: The results of the unperturbed runs with these actions.
        plan: The plan.
        kept: The numbers of the test's actions that are played; None for all.
    """

    calm: Baseline
    plan: Plan
    kept: tuple[int, ...] | None = None

    def session(self, whole: Run) -> Session:
        """Return the run with the fault of the plan.

        Args:
            whole: The first unperturbed run of the whole test.
        """
        return Session(baseline=self.calm, plan=self.plan, told=parts(whole, self.kept), kept=self.kept)

    def expecting(self, calm: Baseline) -> Case:
        """Return this case with the results of more unperturbed runs of the whole test."""
        expected = calm if self.kept is None else calm.shorter(self.calm.run)
        others = [calm.shorter(each.run) for each in self.calm.others]
        return attrs.evolve(self, calm=attrs.evolve(expected, others=others))

    def or_else(self, whole: Run, passes: Callable[[Session], bool]) -> Case:
        """Return this case, in which the results of other orders of its actions count as correct, too.

        The orders are those that the program cannot tell apart under the plan. Each is run without a fault; one that
        does not pass, or whose actions cannot all be carried out, is left out.

        Args:
            whole: The first unperturbed run of the whole test.
            passes: Called with a session; runs it, and returns whether it passed.
        """
        runs = []
        calm = self.calm.run
        for order in other_orders(self.plan, calm, calm.steps):
            if (numbers := parts_in(order, calm)) is not None:
                own = numbers if self.kept is None else tuple(self.kept[at] for at in numbers)
                session = Session(told=parts(whole, own))
                runs += [session.run] if passes(session) and not session.is_void else []
        return attrs.evolve(self, calm=self.calm.or_else(runs)) if runs else self


def parts(whole: Run, kept: Sequence[int] | None) -> list[Told] | None:
    """Return actions of a run by their numbers, counted from the start of the manager; None if `kept` is None."""
    story = whole.story[whole.prelude or 0 :]
    return None if kept is None else [story[at] for at in kept if at < len(story)]


def smallest(case: Case, passes: Callable[[Session], bool], clock: Callable[[], float]) -> Case:
    """Return a case with as few steps as could be found; the given one if no step can be left out.

    Args:
        case: A case with all actions of the test.
        passes: Called with a session; runs it, and returns whether it passed.
        clock: Returns real seconds.
    """
    whole = case.calm.run
    if not whole.is_retellable:
        return case
    kept = tuple(range(len(whole.story) - (whole.prelude or 0)))
    deadline = clock() + MOST_SECONDS
    tried = 0
    for at in reversed(kept):
        story = parts(whole, kept) or []
        if at not in kept or story[kept.index(at)].step is None:
            continue
        tried += 1
        if tried > MOST_STORIES or clock() > deadline:
            break
        fewer = _without(kept, at, story)
        if (found := _fails(attrs.evolve(case, kept=fewer), whole, passes)) is not None:
            case, kept = found, fewer
    return case


def _without(kept: tuple[int, ...], at: int, story: Sequence[Told]) -> tuple[int, ...]:
    """Leave out a step, and the wait after it if another wait follows that or it came first."""
    place = kept.index(at)
    before_waits = place == 0 or story[place - 1].step is None
    next_waits = place + 1 < len(story) and story[place + 1].step is None
    return kept[:place] + kept[place + 1 + (before_waits and next_waits) :]


def _fails(case: Case, whole: Run, passes: Callable[[Session], bool]) -> Case | None:
    calm = Session(told=parts(whole, case.kept))
    if not passes(calm) or calm.is_void or not calm.run.rests or calm.run.failing:
        return None
    struck = _what_is_struck(case.plan, case.calm.run)
    shorter = case.calm.shorter(calm.run)
    plans = plan(calm.run, [case.plan.pattern]).plans
    alike = [each for each in plans if _what_is_struck(each, calm.run) == struck]
    for each in reversed(alike[-MOST_PLANS:]):
        found = Case(shorter, each, case.kept).or_else(whole, passes)
        session = found.session(whole)
        if not passes(session) and session.fired:
            return found
    return None


def _what_is_struck(plan: Plan, calm: Run) -> object:
    """Return what a plan strikes, which is the same in a shorter story, though at another number or version."""
    match plan:
        case Crash(write, landed):
            return Crash, landed, calm.sent[write - 1].target if write <= len(calm.sent) else ""
        case OutsideFault(call, fault):
            return OutsideFault, fault, calm.sent[call - 1].target if call <= len(calm.sent) else ""
        case Missed(name) | Lag(name):
            struck = [
                (each.creates, each.deletes, each.fields, each.name) for each in calm.landed if _is_at(plan, each)
            ]
            return type(plan), name, *struck
        case _:
            return type(plan), getattr(plan, "resource", "")


def _is_at(plan: Missed | Lag, change: Landed) -> bool:
    where = change.name if isinstance(plan, Missed) else change.name.resource
    return change.version == plan.version and where == (plan.name if isinstance(plan, Missed) else plan.resource)
