# SPDX-License-Identifier: Apache-2.0
"""A perturbed run is unperturbed until its fault: a difference by then is no effect of the fault."""

from __future__ import annotations

import pytest
from kit.perturbation.recorded_runs import CLAIM, POD, a_run, created, deleted

from controller_runtime.testing.perturbation.calm_runs import CalmRuns
from controller_runtime.testing.perturbation.judging import judge, learn
from controller_runtime.testing.perturbation.record import Landed, Rest, Run
from controller_runtime.testing.perturbation.relations import RUNS
from controller_runtime.testing.perturbation.verdict import not_compared

FIVE = {f"value{number}": number for number in range(5)}


def at(phase: str, step: int, *, size: int = 1, reached: int = 0) -> Rest:
    return Rest({POD: [{**FIVE, "spec": {"size": size}, "status": {"phase": phase}}]}, step, reached)


CALM = a_run(rests=[at("Running", 1), at("Running", 2), at("Running", 3)])
PENDING = [at("Pending", 1), at("Pending", 2), at("Pending", 3)]


def perturbed(rests: list[Rest], *, after: int, changes: tuple[Landed, ...] = ()) -> Run:
    """Return a run with its fault after `after` rests."""
    made: Run = a_run(*changes, rests=rests, before=rests[:after])
    return made


@pytest.mark.parametrize(("after", "is_blamed"), [(0, True), (1, False), (2, False)])
def test_a_value_that_differs_before_the_fault_is_not_compared_afterwards(after: int, is_blamed: bool) -> None:
    verdict = judge(learn([CALM]), perturbed(PENDING, after=after))

    assert bool(verdict.complaints) is is_blamed
    assert verdict.differed == (frozenset() if is_blamed else {(POD, "status.phase")})


def test_nothing_is_waited_for_that_differed_before_the_fault() -> None:
    baseline = learn([CALM])

    assert baseline.is_at(1, perturbed(PENDING, after=1), PENDING[1].state)
    assert not baseline.is_at(1, perturbed(PENDING, after=0), PENDING[1].state)
    assert not baseline.is_at(0, perturbed([], after=0), PENDING[0].state)


def test_all_other_values_are_compared_as_ever() -> None:
    rests = [at("Pending", 1), at("Pending", 2), at("Pending", 3, size=2)]

    verdict = judge(learn([CALM]), perturbed(rests, after=1))

    assert verdict.complaints == ["pods default/web spec.size: 1 in a calm run, 2 here"]
    assert (verdict.coverage.values, verdict.coverage.values_left) == (18, 3)


def test_a_value_that_differs_again_after_the_fault_only_is_a_complaint() -> None:
    rests = [at("Running", 1), at("Pending", 2), at("Pending", 3)]

    assert judge(learn([CALM]), perturbed(rests, after=1)).complaints == [
        "pods default/web status.phase: 'Running' in a calm run, 'Pending' here"
    ]


def test_an_object_that_is_absent_or_there_before_the_fault_is_neither_compared_nor_counted() -> None:
    rests = [at("Running", step) for step in (1, 2, 3)]
    rests = [Rest({**each.state, CLAIM: [{}]}, each.step, reached=9) for each in rests]
    here = perturbed(rests, after=1, changes=(created(1, CLAIM), created(12, CLAIM)))

    verdict = judge(learn([CALM]), here)

    assert verdict.complaints == []
    assert (CLAIM, "") in verdict.differed
    here.before = []
    assert judge(learn([CALM]), here).complaints != []


AGAIN = (created(1), deleted(2, phase=0), created(3), created(4))


@pytest.mark.parametrize(("reached", "is_blamed"), [(4, False), (2, True)])
def test_an_object_that_was_made_too_often_before_the_fault_is_not_counted(reached: int, is_blamed: bool) -> None:
    calm = a_run(created(1), rests=[at("Running", step, reached=9) for step in (1, 2, 3)])
    rests = [at("Running", step, reached=reached) for step in (1, 2, 3)]

    assert bool(judge(learn([calm]), perturbed(rests, after=1, changes=AGAIN)).complaints) is is_blamed


def test_only_changes_of_the_same_part_of_both_runs_are_counted_before_the_fault() -> None:
    """The calm run makes the object again, but later: by then this run has made it once too often by chance."""
    reached = {1: 2, 2: 9, 3: 9}
    calm = a_run(created(1), created(5), rests=[at("Running", step, reached=reached[step]) for step in (1, 2, 3)])
    changes = (created(1), created(2), created(5))
    rests = [at("Running", step, reached=reached[step]) for step in (1, 2, 3)]

    assert judge(learn([calm]), perturbed(rests, after=1, changes=changes)).complaints == []
    assert judge(learn([calm]), perturbed(rests, after=0, changes=changes)).complaints != []


def test_a_relation_that_does_not_hold_before_the_fault_is_not_judged() -> None:
    def rest(one: int, other: int, step: int) -> Rest:
        return Rest({POD: [{**FIVE, "one": one}], CLAIM: [{**FIVE, "one": other}]}, step)

    baseline = learn([a_run(rests=[rest(number, number, step) for step in (1, 2)]) for number in range(RUNS)])
    rests = [rest(8, 9, 1), rest(8, 9, 2)]

    assert judge(baseline, perturbed(rests, after=0)).complaints != []
    assert judge(baseline, perturbed(rests, after=1)).complaints == []


def calm_runs() -> CalmRuns:
    return CalmRuns([CALM, CALM], lambda _: None)


def test_later_plans_are_not_blamed_for_a_value_that_differed_before_the_fault_of_another_one() -> None:
    runs = calm_runs()
    runs.add_begun(perturbed([at("Running", 1), at("Pending", 2), at("Pending", 3)], after=2))

    assert (
        judge(runs.baseline, perturbed([at("Running", 1), at("Pending", 2), at("Pending", 3)], after=0)).complaints
        == []
    )
    assert judge(runs.baseline, perturbed(PENDING, after=0)).complaints == [
        "at rest after step 1, pods default/web status.phase: 'Running' in a calm run, 'Pending' here"
    ]


def test_the_run_that_showed_the_value_is_judged_alike_before_and_after() -> None:
    runs, here = calm_runs(), perturbed(PENDING, after=1)
    first = judge(runs.baseline, here)
    runs.add_begun(here)

    assert [*judge(runs.baseline, here).complaints] == [*first.complaints] == []


def test_other_objects_before_a_fault_excuse_no_other_plan() -> None:
    runs = calm_runs()
    rests = [Rest({**each.state, CLAIM: [{}]}, each.step) for each in PENDING]
    runs.add_begun(perturbed(rests, after=1))

    assert judge(runs.baseline, perturbed(PENDING, after=0)).complaints != []
    assert judge(runs.baseline, perturbed(rests, after=0)).complaints != []


def test_a_run_of_which_too_little_is_left_is_not_judged() -> None:
    small = [Rest({POD: [{"phase": phase}]}, 1) for phase in ("Running", "Pending")]

    verdict = judge(learn([a_run(rests=small[:1])]), perturbed(small[1:], after=1))

    assert not verdict.complaints
    assert not verdict.is_judged


def test_the_line_names_what_is_not_compared_and_why() -> None:
    assert not_compared({(POD, "status.phase"), (CLAIM, "")}, "this run differed before its fault") == (
        "not compared, as this run differed before its fault: "
        "persistentvolumeclaims default/data, pods default/web status.phase"
    )
    assert not_compared((), "calm runs differ") == ""
