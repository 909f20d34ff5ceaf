# SPDX-License-Identifier: Apache-2.0
"""The text of a failure, and the file that replays it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from controller_runtime.testing.perturbation.explaining import happened, story_of
from controller_runtime.testing.perturbation.judging import judge as compare
from controller_runtime.testing.perturbation.options import Options, Script
from controller_runtime.testing.perturbation.phase import Void
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.session import Session

_SHOWN = 8


def judge(session: Session) -> Sequence[str]:
    """Judge a perturbed run that has ended; return the effects that a correct program would not have had.

    Raises:
        Skipped: The fault could not happen, or too little could be compared to say that the run has passed.
    """
    assert session.baseline is not None, "only a perturbed run is judged"
    if not session.fired and not session.run.failures:
        reason = session.phase.reason if isinstance(session.phase, Void) else "the run had no such point"
        pytest.skip(f"could not happen: {reason}")
    session.verdict = verdict = compare(session.baseline, session.run)
    if not verdict.is_judged:
        pytest.skip(f"not judged: {verdict.coverage}; {session.baseline.not_compared}")
    return verdict.complaints


def report(session: Session, name: str, test: str, options: Options, found: Sequence[str]) -> str:
    """Return the text that `--perturb` shows for a failed run, and write the file for `--perturb-script`.

    Args:
        session: The run that failed.
        name: The name of the run, of which the file's name is made.
        test: The pytest node id of the test, without the plan.
        options: The options of the runs. With a `path`, that file is named and none is written.
        found: The texts about the failures of the run.
    """
    assert session.plan is not None, "a calm run has no plan"
    assert session.baseline is not None, "nor has it runs to compare it with"
    plan, story = session.plan, session.run.story
    path = options.path or Script(test, plan, session.kept).write(options.folder, name)
    whole = "" if session.kept is None else ", the smallest that fails"
    lines = [f"{plan.pattern} ({plan.grade}): {happened(plan, session.baseline.run)}"]
    lines += [f"  {each}" for each in found[:_SHOWN]]
    lines += [f"  and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    lines += [f"  story{whole}: {told}"] if (told := story_of(story)) and not isinstance(plan, StateSequence) else []
    lines.append(f"  remedy: {plan.remedy}")
    lines.append(f"  replay: pytest {_quoted(test)} --perturb-script={path}")
    return "\n".join(lines)


def _quoted(test: str) -> str:
    return f"'{test}'" if re.search(r"[^\w./:=-]", test) else test
