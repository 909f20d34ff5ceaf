# SPDX-License-Identifier: Apache-2.0
"""The plans for a story, from the record of its calm run."""

from __future__ import annotations

import pytest
from kit.perturbation.recorded_runs import CLAIM, POD, a_run, created, deleted, landed

from controller_runtime.testing.perturbation.planning import plan
from controller_runtime.testing.perturbation.plans import (
    Crash,
    Lag,
    Missed,
    Plan,
    Restart,
    Stale,
    from_json,
    to_json,
)
from controller_runtime.testing.perturbation.record import OTHER, STORY, Landed, Rest, Run, Sent


def rests(*reached: int) -> list[Rest]:
    return [Rest({}, reached=version) for version in reached]


def plans(run: Run, pattern: str) -> list[Plan]:
    planned = plan(run, [pattern])
    assert planned.possible >= len(planned.plans)
    return planned.plans


def test_the_manager_ends_before_and_after_a_write() -> None:
    assert plans(a_run(landed(1)), "crash") == [Crash(1, landed=False), Crash(1, landed=True)]


def test_the_end_before_a_write_is_that_after_the_write_before_it() -> None:
    assert plans(a_run(created(1), landed(2)), "crash") == [
        Crash(1, landed=False),
        Crash(1, landed=True),
        Crash(2, landed=True),
    ]


@pytest.mark.parametrize("between", [landed(2, writer=OTHER), landed(2, writer=STORY)])
def test_but_not_if_others_wrote_in_between(between: Landed) -> None:
    assert Crash(3, landed=False) in plans(a_run(landed(1), between, landed(3, CLAIM)), "crash")


def test_a_write_that_changed_nothing_has_no_plan_and_like_writes_have_two() -> None:
    nothing = Run(sent=[Sent(1, "PATCH", "pods default/web")])
    renewals = a_run(*(landed(version, fields=("spec.renewTime",)) for version in range(1, 9)))

    assert plans(nothing, "crash") == []
    assert {each.write for each in plans(renewals, "crash") if isinstance(each, Crash)} == {1, 2}


def test_the_manager_restarts_after_each_wait() -> None:
    run = Run(rests=[Rest({}), Rest({}), Rest({}, reached=1)])

    assert plans(run, "crash") == [Restart(0), Restart(1), Restart(2)]


def test_the_end_of_a_test_is_no_rest_of_its_own_if_nothing_happened_since_the_last_wait() -> None:
    run = Run(rests=[Rest({}), Rest({})])

    assert plans(run, "crash") == [Restart(0)]


def test_of_two_changes_the_first_is_missed_unless_the_manager_made_the_second() -> None:
    assert plans(a_run(created(1), landed(2, writer=OTHER), deleted(3, writer=OTHER)), "missed") == [
        Missed(POD, 1, by_story=False),
        Missed(POD, 2, by_story=False),
    ]
    assert plans(a_run(created(1), landed(2)), "missed") == []


def test_all_between_two_steps_of_the_story_is_missed_together() -> None:
    run = a_run(created(1, writer=STORY), landed(2, fields=("status",)), landed(3, writer=STORY))

    assert plans(run, "missed") == [Missed(POD, 1, by_story=True)]


def test_a_restart_shows_each_older_version_where_any_version_was_asked_for() -> None:
    changes = [created(1), landed(2, writer=OTHER), deleted(3, writer=OTHER, phase=1)]
    run = a_run(*changes, rests=rests(2, 3), any_version={"pods"})

    assert [each for each in plans(run, "stale") if isinstance(each, Stale)] == [
        Stale("pods", 2, 1),
        Stale("pods", 1, 1),
        Stale("pods", 1, 0),
    ]
    assert not [each for each in plans(a_run(*changes, rests=rests(2, 3)), "stale") if isinstance(each, Stale)]


def test_a_wait_without_a_change_is_no_occasion_for_a_restart() -> None:
    run = a_run(created(1), landed(2, writer=OTHER), rests=rests(2, 2), any_version={"pods"})

    assert [each for each in plans(run, "stale") if isinstance(each, Stale)] == [Stale("pods", 1, 0)]


def test_each_change_may_be_late_and_changes_that_are_alike_are_late_together() -> None:
    other = POD._replace(key="default/other")

    assert plans(a_run(created(1), created(2, other), landed(3, CLAIM), deleted(4)), "stale") == [
        Lag("pods", 1),
        Lag("persistentvolumeclaims", 3),
        Lag("pods", 4),
    ]


def test_events_and_what_is_not_watched_have_no_plans() -> None:
    run = a_run(created(1, POD._replace(resource="events")), created(2, writer=OTHER), landed(3, writer=OTHER))
    run.watched.discard("pods")

    assert plans(run, "stale") == plans(run, "missed") == []


def test_plans_survive_json() -> None:
    run = a_run(created(1, writer=STORY), landed(2), landed(3, writer=STORY), rests=rests(3))
    run.any_version.add("pods")
    made = plan(run, ["crash", "missed", "stale"]).plans

    assert {type(each) for each in made} == {Crash, Restart, Missed, Stale, Lag}
    assert [from_json(to_json(each)) for each in made] == made


@pytest.mark.parametrize("value", [{}, {"plan": "Nap"}, {"plan": "Crash", "at": 1}])
def test_what_is_no_plan_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="is not a plan"):
        from_json(value)
