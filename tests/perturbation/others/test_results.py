# SPDX-License-Identifier: Apache-2.0
"""Results are told in lines, and written as JUnit and JSON that machines can read."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from controller_runtime.testing.perturbation.others.results import (
    Result,
    had_its_fault,
    junit,
    status_of,
    to_mapping,
    total,
    without_complaint,
)
from controller_runtime.testing.perturbation.plans import Crash, Restart
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.verdict import Coverage, Verdict

FAILED = Result(
    Crash(7, landed=True),
    "failed",
    12.34,
    what="step 1: the manager ended",
    complaints=[f"pods default/{number} is missing\x1b" for number in range(10)],
    runs=3,
    failures=2,
    file=".perturb/crash-after-write-7.json",
    log=["panic: <nil>"],
)
RESULTS = [
    FAILED,
    Result(Crash(7, landed=False), "passed", 1.0),
    Result(Restart(0), "void", 1.0),
    Result(Restart(1), "unjudged", 1.0, what="1 of 9 objects and 3 of 90 values are compared"),
    Result(Restart(2), "known", 2.0, complaints=["pods default/a is missing"], runs=2, failures=2, file="f"),
    Result(Restart(3), "once", 3.0, complaints=["pods default/b is missing"], runs=3, failures=1, file="f"),
]


@pytest.mark.parametrize(
    ("result", "line"),
    [
        *zip(
            RESULTS,
            [
                "crash after write 7: FAILED 2 of 3 (12.3 s)",
                "crash before write 7: passed (1.0 s)",
                "restart after wait 1: could not happen (1.0 s)",
                "restart after wait 2: not judged: 1 of 9 objects and 3 of 90 values are compared (1.0 s)",
                "restart after wait 3: failed as before 2 of 2 (2.0 s)",
                "restart after wait 4: not confirmed: failed 1 of 3 (3.0 s)",
            ],
            strict=True,
        )
    ],
)
def test_a_result_is_one_line(result: Result, line: str) -> None:
    assert str(result) == line


def test_a_failure_shows_its_complaints_how_many_more_there_are_its_log_and_its_file() -> None:
    lines = FAILED.details

    assert lines[0] == "crash (lawful): step 1: the manager ended"
    assert "  and 2 more" in lines
    assert lines[lines.index("the operator printed last:") + 1] == "  panic: <nil>"
    assert lines[-1] == "replay: --replay .perturb/crash-after-write-7.json"


def test_the_sum_says_what_was_not_seen_in_each_run_and_what_was_not_judged() -> None:
    assert total(RESULTS) == (
        "1 plans failed (1 of them not in each run), 1 failed once and were not confirmed, 1 failed as before, "
        "1 passed, 1 could not happen, 1 not judged"
    )


def test_junit_has_a_case_for_each_plan_and_fails_only_what_is_new() -> None:
    suite = ElementTree.fromstring(junit(RESULTS, "story.yaml"))

    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "1", "4")
    failure = suite.find("testcase[@name='crash after write 7']/failure")
    assert failure is not None
    assert failure.get("message") == "pods default/0 is missing?", "XML cannot hold an escape"
    assert "panic: <nil>" in str(failure.text)
    assert [each.get("name") for each in suite.findall("testcase") if each.find("skipped") is not None] == [
        "restart after wait 1",
        "restart after wait 2",
        "restart after wait 3",
        "restart after wait 4",
    ]
    assert [each.get("message") for each in suite.iter("skipped")][-1] == "not confirmed: pods default/b is missing"


def test_json_has_all_that_is_told() -> None:
    found = json.loads(json.dumps(to_mapping(RESULTS, 3), default=str))

    assert found["left_out"] == 3
    assert found["plans"][0] | {"complaints": None} == {
        "plan": "crash after write 7",
        "status": "failed",
        "seconds": 12.34,
        "what": "step 1: the manager ended",
        "complaints": None,
        "runs": 3,
        "failures": 2,
        "file": ".perturb/crash-after-write-7.json",
        "log": ["panic: <nil>"],
    }


@pytest.mark.parametrize(
    ("runs", "failures", "status"),
    [(1, 1, "failed"), (2, 2, "failed"), (3, 2, "failed"), (2, 1, "once"), (3, 1, "once")],
)
def test_a_failure_that_no_other_run_with_its_fault_shows_is_not_confirmed(
    runs: int, failures: int, status: str
) -> None:
    assert status_of(runs, failures) == status


ENOUGH, TOO_LITTLE = Coverage(values=80, values_left=20), Coverage(values=79, values_left=21)


@pytest.mark.parametrize(
    ("verdict", "has_happened", "status"),
    [
        (Verdict([], ENOUGH), True, "passed"),
        (Verdict([], TOO_LITTLE), True, "unjudged"),
        (Verdict(["a"], ENOUGH), True, None),
        (Verdict(["a"], TOO_LITTLE), True, None),
        (Verdict([], ENOUGH), False, "void"),
        (Verdict(["a"], ENOUGH), False, "void"),
    ],
)
def test_a_run_passes_only_if_its_fault_happened_and_enough_was_compared(
    verdict: Verdict, has_happened: bool, status: str | None
) -> None:
    found = without_complaint(Restart(0), verdict, 1.0, has_happened, "why")

    assert (found and found.status) == status


@pytest.mark.parametrize(
    ("failures", "fired", "has_begun", "is_effect"),
    [
        ([], True, True, True),
        ([], False, True, False),
        (["it cannot be done"], False, True, True),
        (["it cannot be done"], False, False, False),
    ],
)
def test_an_early_end_is_an_effect_of_a_fault_that_has_begun(
    failures: list[str], fired: bool, has_begun: bool, is_effect: bool
) -> None:
    assert had_its_fault(Run(failures=failures), fired=fired, has_begun=has_begun) is is_effect
