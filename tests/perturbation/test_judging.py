# SPDX-License-Identifier: Apache-2.0
"""The complaints about a perturbed run, beside the calm one."""

from __future__ import annotations

from typing import Any

import pytest
from kit.perturbation.recorded_runs import CLAIM, POD, a_run, created, deleted, landed

from controller_runtime.testing.perturbation.judging import judge, learn
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, STORY, Landed, Rest, Run
from controller_runtime.testing.perturbation.verdict import Coverage
from embedded_apiserver.perturbation import Name

CALM = [created(1)]


def complaints(here: Run, *calm: Run) -> list[str]:
    return [*judge(learn(calm), here).complaints]


def judged(calm: list[Landed], here: list[Landed]) -> list[str]:
    return complaints(a_run(*here), a_run(*calm, rests=[Rest({POD: [{}]})]))


@pytest.mark.parametrize("writer", [MANAGER, OTHER])
def test_an_object_that_the_calm_run_keeps_must_not_be_deleted_after_a_rest(writer: str) -> None:
    assert judged(CALM, [created(1), deleted(2, writer=writer, phase=1)]) == [
        "pods default/web was deleted, and lives to the end of a calm run"
    ]


def test_an_object_must_not_be_deleted_more_often_than_in_the_calm_run() -> None:
    once = [created(1), deleted(2, phase=1), created(3, phase=2)]

    assert judged(once, [*once, deleted(4, phase=3), created(5, phase=3)])[0] == (
        "pods default/web was deleted 2 times, and once in a calm run"
    )
    assert judged(once, once) == []


def test_deletions_of_the_story_do_not_count() -> None:
    assert judged(CALM, [created(1), deleted(2, writer=STORY, phase=1)]) == []


def test_an_object_that_goes_before_the_next_rest_was_made_in_vain_and_a_few_of_these_are_no_harm() -> None:
    vain = [change for version in (3, 5) for change in (created(version, CLAIM), deleted(version + 1, CLAIM))]

    assert judged(CALM, [created(1), *vain]) == []
    assert judged(CALM, [created(1), *vain, created(7, CLAIM), deleted(8, CLAIM)]) == [
        "persistentvolumeclaims default/data was created 3 times, and 0 times in a calm run"
    ]


def test_an_object_must_not_be_created_more_often_than_in_the_calm_run() -> None:
    assert judged(CALM, [created(1), created(2)]) == ["pods default/web was created 2 times, and once in a calm run"]
    assert judged(CALM, [created(1), created(2, writer=OTHER)]) == []


def test_an_object_that_was_there_at_a_rest_was_not_made_in_vain() -> None:
    assert judged(CALM, [created(1), deleted(2, phase=1), created(3, phase=1)]) == [
        "pods default/web was deleted, and lives to the end of a calm run",
        "pods default/web was created 2 times, and once in a calm run",
    ]


def test_an_object_that_garbage_collection_deletes_later_was_made_in_vain() -> None:
    assert judged(CALM, [created(1), created(2, CLAIM), deleted(3, CLAIM, OTHER, phase=0)]) == []


def test_a_deletion_that_the_calm_run_makes_before_a_rest_may_come_after_one() -> None:
    in_vain = [created(1), created(2, CLAIM), deleted(3, CLAIM)]

    assert judged(in_vain, [created(1), created(2, CLAIM), deleted(3, CLAIM, phase=1)]) == []


def test_the_end_of_a_calm_run_is_told_only_of_what_is_there_then() -> None:
    assert complaints(a_run(deleted(1)), a_run(rests=[Rest({})])) == [
        "pods default/web was deleted once, and 0 times in a calm run"
    ]


def test_objects_that_come_and_go_by_themselves_are_not_counted() -> None:
    calm = a_run(created(1), rests=[at(1)])
    again = a_run(rests=[Rest({})])

    assert complaints(a_run(created(1), created(2), rests=[at(1)]), calm, again) == []


def at(size: int, step: int = 0, name: Name = POD, **more: Any) -> Rest:
    return Rest({name: [{"spec": {"size": size}}]}, step, **more)


def test_another_state_in_the_end_is_told_by_its_path_without_values_that_differ_in_calm_runs() -> None:
    calm, again, here = (
        a_run(rests=[Rest({POD: [{"spec": {"size": size, "color": color}}]})])
        for size, color in ((1, "red"), (1, "green"), (2, "blue"))
    )

    assert complaints(here, calm, again) == ["pods default/web spec.size: 1 in a calm run, 2 here"]


def test_the_world_after_each_step_is_judged_and_an_earlier_rest_of_a_step_is_not() -> None:
    calm = a_run(rests=[at(1, 1), at(2, 1), at(3, 2)])

    assert complaints(a_run(rests=[at(9, 1), at(2, 1), at(3, 2)]), calm) == []
    assert complaints(a_run(rests=[at(1, 1), at(8, 1), at(7, 2)]), calm) == [
        "pods default/web spec.size: 3 in a calm run, 7 here"
    ]
    assert complaints(a_run(rests=[at(1, 1), at(8, 1), at(3, 2)]), calm) == [
        "at rest after step 1, pods default/web spec.size: 2 in a calm run, 8 here"
    ]


def test_a_calm_run_that_rests_more_often_in_a_step_shows_its_state_by_the_last_of_these_rests() -> None:
    calm, again = a_run(rests=[at(1, 1), at(2, 2)]), a_run(rests=[at(1, 1), at(9, 2), at(2, 2)])

    assert learn([calm, again]).ignored == frozenset()


def test_the_values_to_ignore_are_those_of_the_same_rest() -> None:
    calm, again = a_run(rests=[at(1, 1), at(5, 2)]), a_run(rests=[at(2, 1), at(5, 2)])

    assert complaints(a_run(rests=[at(3, 1), at(5, 2)]), calm, again) == []
    assert complaints(a_run(rests=[at(1, 1), at(6, 2)]), calm, again) == [
        "pods default/web spec.size: 5 in a calm run, 6 here"
    ]


def test_a_rest_at_which_a_change_is_still_being_missed_is_left_out() -> None:
    calm = a_run(rests=[at(1, 1), at(2, 2)])

    assert complaints(a_run(rests=[at(0, 1, is_withheld=True), at(2, 2)]), calm) == []
    assert complaints(a_run(rests=[at(0, 1), at(2, 2)]), calm) != []


def test_of_a_run_that_ended_early_only_the_rests_that_it_reached_are_judged() -> None:
    calm = a_run(rests=[at(1, 1), at(2, 2), at(3, 2)], idle=0)
    early = {"is_whole": False, "failures": ["assert 3 == 1"], "idle": 99, "failing": ["a: x"]}

    assert complaints(a_run(rests=[at(1, 1), at(0, 2)], **early), calm) == ["assert 3 == 1"]
    assert complaints(a_run(rests=[at(9, 1)], **early), calm) == [
        "assert 3 == 1",
        "at rest after step 1, pods default/web spec.size: 1 in a calm run, 9 here",
    ]


def secret(text: str) -> Name:
    return Name("secrets", f"default/a-{text}")


def test_a_name_that_the_program_makes_at_random_is_the_same_object_in_each_run() -> None:
    runs = [a_run(created(1, name), rests=[at(size, name=name)]) for name, size in RANDOM]
    *calm, same, other = runs

    assert complaints(same, *calm) == []
    assert complaints(other, *calm) == ["secrets default/a-* spec.size: a value in a calm run, a value here"]


RANDOM = [(secret("9c128468"), 1), (secret("07aa51fe"), 1), (secret("5be02c71"), 1), (secret("b81f93d0"), 2)]


def test_a_second_object_with_a_random_name_is_one_too_many() -> None:
    calm = [a_run(created(1, name), rests=[at(1, name=name)]) for name, _ in RANDOM[:2]]
    (one, _), (two, _) = RANDOM[2:]
    both = Rest({**at(1, name=one).state, **at(1, name=two).state})

    assert complaints(a_run(created(1, one), created(2, two), rests=[both]), *calm) == [
        "secrets default/a-* was created 2 times, and once in a calm run",
        "secrets default/a-*: absent in a calm run, a value here",
    ]


def test_a_run_of_which_too_little_can_be_compared_is_not_judged_unless_a_fault_shows() -> None:
    state = {"spec": {"size": 1}}
    runs = [
        a_run(rests=[Rest({POD: [{**state, "data": {"a": f"{number}", "b": f"{number}"}}]})]) for number in (1, 2, 3)
    ]
    baseline = learn(runs[:2])

    verdict = judge(baseline, runs[2])

    assert not verdict.is_judged
    assert str(verdict.coverage) == "1 of 1 objects and 1 of 3 values are compared"
    assert baseline.not_compared == (
        "not compared, as calm runs differ: pods default/web data.a, pods default/web data.b; "
        "1 of 1 objects and 1 of 3 values are compared"
    )
    assert judge(baseline, a_run(rests=[Rest({})])).is_judged


@pytest.mark.parametrize(("left", "is_enough"), [(0, True), (20, True), (21, False)])
def test_four_of_five_objects_and_values_are_enough(left: int, is_enough: bool) -> None:
    assert Coverage(values=100 - left, values_left=left).is_enough is is_enough
    assert Coverage(objects=100 - left, objects_left=left).is_enough is is_enough


def test_an_object_that_cannot_be_paired_is_named_once_and_not_judged() -> None:
    lone, other = Name("secrets", "default/x-1"), Name("secrets", "default/y-2")

    def ended(*names: Name) -> Run:
        return a_run(*(created(1, name) for name in names), rests=[Rest({name: [{}] for name in names})])

    baseline = learn([ended(POD, lone), ended(POD)])

    assert baseline.not_compared == (
        "not compared, as calm runs differ: secrets default/*; 1 of 2 objects and 1 of 1 values are compared"
    )
    assert judge(baseline, ended(POD, other)).complaints == []


def test_how_much_is_compared_is_told_of_all_rests() -> None:
    calm = [a_run(rests=[at(1, 1), at(number, 2), at(1, 3)]) for number in (1, 2)]

    assert str(learn(calm).coverage) == "3 of 3 objects and 2 of 3 values are compared"
    assert not learn(calm[:1]).not_compared


def test_what_fails_in_the_end_is_told_unless_it_fails_in_the_calm_run_too() -> None:
    assert complaints(a_run(failing=["a: x", "b: y"]), a_run(failing=["a: x"])) == ["b: y still fails at the end"]


@pytest.mark.parametrize(("calm", "here", "is_hot"), [(0, 20, False), (0, 21, True), (10, 50, False), (10, 51, True)])
def test_many_requests_while_nothing_happens_are_told(calm: int, here: int, is_hot: bool) -> None:
    assert bool(complaints(a_run(idle=here), a_run(idle=calm))) == is_hot


def test_updates_are_no_ground_for_a_complaint() -> None:
    assert judged(CALM, [created(1), landed(2, fields=("spec",)), landed(3, fields=("spec",))]) == []
