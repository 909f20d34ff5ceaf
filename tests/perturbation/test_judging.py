# SPDX-License-Identifier: Apache-2.0
"""The complaints about a perturbed run, beside the calm one."""

from __future__ import annotations

from typing import Any

import pytest
from kit.perturbation.recorded_runs import CLAIM, POD, a_run, created, deleted, landed

from controller_runtime.testing.perturbation.judging import complaints
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, STORY, Landed

CALM = [created(1)]


def judged(calm: list[Landed], here: list[Landed], ignored: frozenset[Any] = frozenset()) -> list[str]:
    return complaints(a_run(*calm), a_run(*here), ignored)


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


def test_an_object_that_was_there_before_the_run_counts() -> None:
    assert judged([], [deleted(1)]) == ["pods default/web was deleted, and lives to the end of a calm run"]


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


def test_an_object_that_garbage_collection_deletes_later_was_made_in_vain() -> None:
    assert judged(CALM, [created(1), created(2, CLAIM), deleted(3, CLAIM, OTHER, phase=0)]) == []


def test_objects_that_come_and_go_by_themselves_are_not_counted() -> None:
    assert judged(CALM, [created(1), created(2)], frozenset({(POD, "")})) == []


def test_another_state_in_the_end_is_told_by_its_path() -> None:
    calm = a_run(rests=[{POD: [{"spec": {"size": 1, "color": "red"}}]}])
    here = a_run(rests=[{POD: [{"spec": {"size": 2, "color": "blue"}}]}])

    assert complaints(calm, here, frozenset({(POD, "spec.color")})) == [
        "pods default/web spec.size: 1 in a calm run, 2 here"
    ]


def test_what_fails_in_the_end_is_told_unless_it_fails_in_the_calm_run_too() -> None:
    assert complaints(a_run(failing=["a: x"]), a_run(failing=["a: x", "b: y"]), frozenset()) == [
        "b: y still fails at the end"
    ]


@pytest.mark.parametrize(("calm", "here", "is_hot"), [(0, 20, False), (0, 21, True), (10, 50, False), (10, 51, True)])
def test_many_requests_while_nothing_happens_are_told(calm: int, here: int, is_hot: bool) -> None:
    assert bool(complaints(a_run(idle=calm), a_run(idle=here), frozenset())) == is_hot


def test_updates_are_no_ground_for_a_complaint() -> None:
    assert judged(CALM, [created(1), landed(2, fields=("spec",)), landed(3, fields=("spec",))]) == []
