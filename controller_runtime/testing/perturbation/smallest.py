# SPDX-License-Identifier: Apache-2.0
"""Finds the smallest story that still fails under a plan, by leaving steps out one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from controller_runtime.testing.perturbation.plans import Missed, Plan, plan
from controller_runtime.testing.perturbation.record import Run, Told
from controller_runtime.testing.perturbation.session import Session
from controller_runtime.testing.perturbation.world import Name

MOST_STORIES = 12
MOST_PLANS = 6
"""How many shorter stories are tried, and of each how many plans; each is one run of the test."""

MOST_SECONDS = 10.0
"""Real seconds after which no further story is tried."""


@attrs.frozen
class Case:
    """A story and a plan under which it fails.

    Attributes:
        calm: The record of its calm run.
        plan: The plan.
        kept: The numbers of the parts of the test's story that are told; None for all of it.
    """

    calm: Run
    plan: Plan
    kept: tuple[int, ...] | None = None

    def session(self, whole: Run, ignored: frozenset[tuple[Name, str]]) -> Session:
        """Return the run in which the plan strikes."""
        told = parts(whole, self.kept)
        return Session(calm=self.calm, plan=self.plan, ignored=ignored, told=told, kept=self.kept)


def parts(whole: Run, kept: Sequence[int] | None) -> list[Told] | None:
    """Return some parts of a run's story, by their numbers from the start of the manager on."""
    story = whole.story[whole.prelude or 0 :]
    return None if kept is None else [story[at] for at in kept if at < len(story)]


def smallest(
    case: Case, ignored: frozenset[tuple[Name, str]], passes: Callable[[Session], bool], clock: Callable[[], float]
) -> Case:
    """Return a case with as few steps as could be found; the given one if none can be left out.

    Args:
        case: A case whose story is the whole one of the test.
        ignored: The values that differ between calm runs.
        passes: Runs a session, and returns whether it passed.
        clock: Real seconds.
    """
    whole = case.calm
    kept = tuple(range(len(whole.story) - (whole.prelude or 0)))
    deadline = clock() + MOST_SECONDS
    tried = 0
    for at in reversed(kept):
        story = parts(whole, kept) or []
        if at not in kept or story[kept.index(at)].request is None:
            continue
        tried += 1
        if tried > MOST_STORIES or clock() > deadline:
            break
        fewer = _without(kept, at, story)
        if (found := _fails(Case(whole, case.plan, fewer), whole, ignored, passes)) is not None:
            case, kept = found, fewer
    return case


def _without(kept: tuple[int, ...], at: int, story: Sequence[Told]) -> tuple[int, ...]:
    """Leave out a step, and the wait after it if another wait follows that or it came first."""
    place = kept.index(at)
    before_waits = place == 0 or story[place - 1].request is None
    next_waits = place + 1 < len(story) and story[place + 1].request is None
    return kept[:place] + kept[place + 1 + (before_waits and next_waits) :]


def _fails(
    case: Case, whole: Run, ignored: frozenset[tuple[Name, str]], passes: Callable[[Session], bool]
) -> Case | None:
    calm = Session(told=parts(whole, case.kept))
    if not passes(calm) or calm.is_void or not calm.run.rests or calm.run.failing:
        return None
    alike = [each for each in plan(calm.run, [case.plan.pattern]).plans if _is_alike(each, case.plan)]
    for each in alike[:MOST_PLANS]:
        found = Case(calm.run, each, case.kept)
        session = found.session(whole, ignored)
        if not passes(session) and session.fired:
            return found
    return None


def _is_alike(one: Plan, other: Plan) -> bool:
    """Return whether two plans perturb the same thing, though maybe at another version."""
    same = type(one) is type(other) and getattr(one, "resource", "") == getattr(other, "resource", "")
    return same and (not isinstance(one, Missed) or not isinstance(other, Missed) or one.name == other.name)

