# SPDX-License-Identifier: Apache-2.0
"""The text of a failure, and the file that replays it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from controller_runtime.testing.perturbation.explaining import happened, story_of
from controller_runtime.testing.perturbation.judging import complaints
from controller_runtime.testing.perturbation.options import Options, Script
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.session import Session

_SHOWN = 8


def judge(session: Session) -> list[str]:
    """Return what a perturbed run that has ended did and a correct program would not have done."""
    if session.calm is None or session.plan is None or session.is_void or not session.fired:
        return []
    return complaints(session.calm, session.run, session.ignored)


def report(session: Session, name: str, test: str, options: Options, found: Sequence[str]) -> str:
    """Return the text for a failure, and write the file that replays it.

    Args:
        session: The run that failed.
        name: The name of the run, which the file gets.
        test: The nodeid of the test, without the plan.
        options: The options of the runs.
        found: The faults that were found.
    """
    assert session.plan is not None, "a calm run has no plan"
    assert session.calm is not None, "neither has it a run to compare it with"
    plan, story = session.plan, session.run.story
    path = options.path or Script(test, plan, session.kept).write(options.folder, name)
    whole = "" if session.kept is None else ", the smallest that fails"
    lines = [f"{plan.pattern} ({plan.grade}): {happened(plan, session.calm)}"]
    lines += [f"  {each}" for each in found[:_SHOWN]]
    lines += [f"  and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    lines += [f"  story{whole}: {told}"] if (told := story_of(story)) and not isinstance(plan, StateSequence) else []
    lines.append(f"  remedy: {plan.remedy}")
    lines.append(f"  replay: pytest {_quoted(test)} --perturb-script={path}")
    return "\n".join(lines)


def _quoted(test: str) -> str:
    return f"'{test}'" if re.search(r"[^\w./:=-]", test) else test
