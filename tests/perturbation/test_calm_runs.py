# SPDX-License-Identifier: Apache-2.0
"""Values that are the same in the first calm runs by chance: more calm runs are made before a plan fails by them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.perturbation.recorded_runs import CLAIM, POD, a_run

from controller_runtime.testing.perturbation.calm_runs import CalmRuns
from controller_runtime.testing.perturbation.judging import judge, learn
from controller_runtime.testing.perturbation.record import Rest, Run
from controller_runtime.testing.perturbation.relations import RUNS
from controller_runtime.testing.perturbation.verdict import Verdict

FIRST = 3


def at(value: int, **more: Any) -> Run:
    made: Run = a_run(rests=[Rest({POD: [{"spec": {"size": 1, "drawn": value}}]})], **more)
    return made


RUN_AT = [at(0), at(1)]


def calm_runs(values: tuple[int, ...]) -> CalmRuns:
    return CalmRuns([RUN_AT[each] for each in values[:FIRST]], lambda number: RUN_AT[values[number]])


def is_alarm(values: tuple[int, ...], here: Run) -> bool:
    """Return whether a plan fails, as its runner decides it."""
    calm = calm_runs(values)
    verdict = judge(calm.baseline, here)
    return bool((judge(calm.complete(), here) if calm.doubts(verdict) else verdict).complaints)


def test_a_value_with_two_equally_likely_states_gives_a_false_alarm_in_fewer_than_one_of_a_hundred_tests() -> None:
    drawn = [*product((0, 1), repeat=RUNS)]

    alarms = sum(any(is_alarm(each, here) for here in RUN_AT) for each in drawn)

    assert alarms == 2  # those in which all calm runs are the same
    assert alarms / len(drawn) <= 0.01


@settings(max_examples=25)
@given(st.lists(st.integers(0, 1), min_size=RUNS, max_size=RUNS), st.integers(0, 1))
def test_a_plan_fails_if_and_only_if_all_calm_runs_differ_from_it(values: list[int], here: int) -> None:
    expected = judge(learn([RUN_AT[each] for each in values]), RUN_AT[here]).complaints

    assert is_alarm(tuple(values), RUN_AT[here]) is bool(expected) is (here not in values)


def test_nothing_more_runs_unless_a_plan_fails_by_differences_alone_and_then_once() -> None:
    made: list[int] = []

    def again(number: int) -> Run:
        made.append(number)
        return RUN_AT[0]

    calm = CalmRuns([RUN_AT[0]] * FIRST, again)

    def verdict(here: Run) -> Verdict:
        return judge(calm.baseline, here)

    assert not calm.doubts(None)
    assert not calm.doubts(verdict(RUN_AT[0]))
    assert not calm.doubts(verdict(at(1, failures=["assert 2 == 1"])))
    assert not calm.doubts(verdict(at(1, failing=["a: x"])))
    assert calm.doubts(verdict(RUN_AT[1]))
    assert made == []

    calm.complete()
    calm.complete()

    assert made == [*range(FIRST, RUNS)]
    assert not calm.doubts(verdict(RUN_AT[1]))


@pytest.mark.parametrize("shows", [[None] * 5, [None, None, RUN_AT[1], None, None]])
def test_a_further_calm_run_that_fails_shows_nothing(shows: list[Run | None]) -> None:
    calm = CalmRuns([RUN_AT[0]] * FIRST, lambda number: shows[number - FIRST])

    assert bool(judge(calm.complete(), RUN_AT[1]).complaints) is (RUN_AT[1] not in shows)


def test_objects_that_only_some_calm_runs_have_excuse_nothing() -> None:
    both = a_run(rests=[Rest({POD: [{}], CLAIM: [{}]})])
    one = a_run(rests=[Rest({POD: [{}]})])
    calm = CalmRuns([one] * FIRST, lambda _: both)

    assert not calm.doubts(judge(calm.baseline, both))
    assert judge(calm.complete(), both).complaints != []
