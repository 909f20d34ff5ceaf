# SPDX-License-Identifier: Apache-2.0
"""Judging sequences of states while the time for runs ends."""

from __future__ import annotations

import pytest

from apimachinery.system import SystemHost
from controller_runtime.testing.perturbation.sequence import Judge
from controller_runtime.testing.perturbation.sequence_run import Stage
from controller_runtime.testing.perturbation.sequence_story import Primary
from embedded_apiserver import APIServer

pytestmark = pytest.mark.once

FIRST, SECOND = {"data": {"a": "1"}}, {"data": {"b": "1"}}


def a_judge(runs: int) -> Judge:
    server = APIServer(SystemHost())
    kind = next(each for each in server.kinds if each.resource == "configmaps")
    server.close()
    primary = Primary(kind, "default", "m", {}, [FIRST], [])
    judge = Judge(Stage(lambda manager: None), primary, may_run=lambda: judge.runs < runs)
    return judge


@pytest.mark.parametrize(("runs", "judged", "left"), [(0, 0, 1), (1, 0, 1), (2, 1, 0)])
def test_a_sequence_is_judged_only_if_its_last_state_alone_was_run_as_well(runs: int, judged: int, left: int) -> None:
    judge = a_judge(runs)

    assert judge.wrong([FIRST, SECOND]) == ((), [])
    assert (judge.judged, judge.left) == (judged, left)


def test_nothing_is_said_of_a_state_alone_once_the_time_is_over() -> None:
    judge = a_judge(0)

    assert judge.wrong_alone(FIRST) == []
    assert not judge.never_rests(FIRST)
