# SPDX-License-Identifier: Apache-2.0
"""The plans for calls to an outside, from the record of a calm run."""

from __future__ import annotations

import pytest

from controller_runtime.testing.outside.calls import Call
from controller_runtime.testing.perturbation.explaining import happened
from controller_runtime.testing.perturbation.planning import plan
from controller_runtime.testing.perturbation.plans import Crash, OutsideFault, Plan, from_json, to_json
from controller_runtime.testing.perturbation.record import MANAGER, STORY, Called, Landed, Run, Sent
from embedded_apiserver.perturbation import Name

WRITE = Call("Topics", "Topics.open('a')")
READ = Call("Topics", "Topics.names()", reads=True)


def a_run(*calls: Call, changes: tuple[int, ...] = ()) -> Run:
    return Run(
        sent=[Sent(number, "call", each.text) for number, each in enumerate(calls, 1)],
        calls=[Called(number, each, 1) for number, each in enumerate(calls, 1)],
        landed=[Landed(1, Name("Topics", "a"), MANAGER, number, 1, 1, creates=True) for number in changes],
    )


def faults(run: Run) -> list[str]:
    return [str(each) for each in plan(run, ["outside"]).plans]


def test_a_call_that_changes_something_is_refused_lost_answered_in_vain_and_late() -> None:
    assert faults(a_run(WRITE, changes=(1,))) == [
        "refused at call 1",
        "request lost at call 1",
        "answer lost at call 1",
        "late at call 1",
    ]


def test_a_call_that_changes_nothing_loses_its_answer_alone() -> None:
    assert faults(a_run(READ)) == ["refused at call 1", "answer lost at call 1", "late at call 1"]
    assert plan(a_run(READ), ["outside"]).pruned == 1


def test_more_happens_only_if_the_fake_declares_it() -> None:
    twice = Call("Topics", "Topics.open('a')", may_repeat=True)
    past = Call("Topics", "Topics.names()", reads=True, may_be_past=True)

    assert "done twice at call 1" in faults(a_run(twice, changes=(1,)))
    assert "answered from the past at call 2" in faults(a_run(WRITE, past))
    assert OutsideFault(1, "done twice").grade == "declared"
    assert OutsideFault(1, "refused").grade == "lawful"


def test_of_calls_that_are_alike_in_one_step_two_are_perturbed() -> None:
    assert {each.rpartition(" ")[2] for each in faults(a_run(*[READ] * 5))} == {"1", "2"}


def test_the_program_ends_before_and_after_a_call_that_changes_something() -> None:
    planned = plan(a_run(READ, WRITE, changes=(2,)), ["crash"])

    assert planned.plans == [Crash(2, landed=False), Crash(2, landed=True)]
    assert planned.possible == 2


def test_a_story_that_cannot_be_told_without_its_test_is_not_left() -> None:
    run = Run(
        watched={"pods"},
        landed=[
            Landed(1, Name("pods", "a"), STORY, 1, 1, 1, creates=True),
            Landed(2, Name("pods", "a"), STORY, 2, 2, 3, fields=("spec",)),
        ],
    )

    assert len(plan(run, ["missed"]).plans) == 1
    run.is_retellable = False
    assert plan(run, ["missed"]).plans == []


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("refused", "was refused before it was sent"),
        ("request lost", "was lost, and ended after 5 s without an answer"),
        ("answer lost", "was carried out, and ended after 5 s without an answer"),
        ("late", "was carried out and answered 20 s later"),
        ("done twice", "was carried out twice"),
        ("answered from the past", "was answered as if the last change had not been made"),
    ],
)
def test_a_fault_is_told_survives_json_and_has_a_remedy(fault: str, text: str) -> None:
    each: Plan = OutsideFault(1, fault)

    assert happened(each, a_run(WRITE)) == f"step 1: call 1, Topics.open('a'), {text}"
    assert from_json(to_json(each)) == each
    assert each.remedy


def test_a_fault_that_there_is_none_of_is_no_plan() -> None:
    with pytest.raises(ValueError, match="is not a plan: 'gone'"):
        from_json({"plan": "OutsideFault", "call": 1, "fault": "gone"})
