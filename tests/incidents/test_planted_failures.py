# SPDX-License-Identifier: Apache-2.0
"""Planted failures replay to the same outcome, and the test that is written of one turns green once it is repaired."""

from __future__ import annotations

import runpy
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from kit.incidents.planted import FAILURES, Plan, failing_as, plans, setup_of
from kit.incidents.recording import recorded

from controller_runtime.incidents.incident import Incident, decode
from controller_runtime.testing.replay.comparing import Verdict
from controller_runtime.testing.replay.file import write_test
from controller_runtime.testing.replay.run import replay
from controller_runtime.testing.replay.telling import told

pytestmark = pytest.mark.once

COUNT = 200


def file_of(plan: Plan) -> bytes:
    """Return the file of the first failure of a plan."""
    with recorded(setup_of(plan)) as recording:
        recording.transport.fail = failing_as(plan, recording)
        recording.create(data={"x": "1"})
        recording.simulation.advance(30.0)
        kept = [each for each in recording.recorder.all() if each.controller == "maps" and each.reasons]
        raw = kept[-1].file()
    assert raw is not None
    return raw


def incident_of(plan: Plan) -> Incident:
    return decode(file_of(plan), "file")


@pytest.mark.parametrize("first", range(0, COUNT, 20))
def test_planted_failures_replay_to_the_same_outcome(first: int) -> None:
    missed = []
    for plan in plans(COUNT, seed=45)[first : first + 20]:
        replayed = replay(incident_of(plan), setup_of(plan))
        if (replayed.verdict, replayed.has_same_failure) != (Verdict.SAME, True):
            missed.append((plan, told(replayed)))

    assert len(missed) <= 1, "\n\n".join(f"{plan}\n{text}" for plan, text in missed)


def test_half_of_the_plans_are_coroutines_or_beside_others_and_no_failure_is_left_out() -> None:
    every = plans(COUNT, seed=45)

    assert sum(plan.style != "thread" for plan in every) >= COUNT // 2
    assert {plan.failure for plan in every} == {*FAILURES}
    assert min(Counter(plan.failure for plan in every).values()) >= 8


@pytest.mark.parametrize("plan", plans(COUNT, seed=45)[:60:6], ids=lambda plan: f"{plan.failure} in a {plan.style}")
def test_the_test_of_an_incident_turns_green_once_it_is_repaired(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "failed.json"
    path.write_bytes(file_of(plan))
    program = ModuleType("planted_program")
    monkeypatch.setitem(sys.modules, "planted_program", program)
    test = write_test(path, decode(path.read_bytes(), "file"), "planted_program", "setup", tmp_path)

    program.setup = setup_of(plan)  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="verdict: same"):
        runpy.run_path(str(test))["test_failed"]()

    program.setup = setup_of(plan, is_repaired=True)  # type: ignore[attr-defined]
    runpy.run_path(str(test))["test_failed"]()
