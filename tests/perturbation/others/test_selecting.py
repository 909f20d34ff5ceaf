# SPDX-License-Identifier: Apache-2.0
"""Plans are chosen by their text and divided into parts, and findings of a baseline are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.errors import UsageError
from controller_runtime.testing.perturbation.others.results import is_known
from controller_runtime.testing.perturbation.others.selecting import read_baseline, selected, shard_of
from controller_runtime.testing.perturbation.plans import Crash, Plan, Restart, Stale

PLANS: list[Plan] = [Crash(1, landed=False), Crash(1, landed=True), Crash(11, landed=True), Restart(0)]
PAST: list[Plan] = [Stale("pods", version, 0) for version in (2, 23)]


@pytest.mark.parametrize(
    ("only", "texts"),
    [
        ([], ["crash before write 1", "crash after write 1", "crash after write 11", "restart after wait 1"]),
        (["crash after write 1"], ["crash after write 1"]),
        (["crash after"], ["crash after write 1", "crash after write 11"]),
        (["restart", "crash before"], ["crash before write 1", "restart after wait 1"]),
    ],
)
def test_plans_are_chosen_by_whole_words_of_their_text(only: list[str], texts: list[str]) -> None:
    assert [str(each) for each in selected(PLANS, only, (1, 1))] == texts


def test_a_word_of_a_plan_may_end_with_a_comma() -> None:
    assert selected(PAST, ["stale pods as of version 2"], (1, 1)) == PAST[:1]


def test_a_text_that_no_plan_has_is_refused() -> None:
    with pytest.raises(UsageError, match="--only 'crash after write 2': no plan has this text; --list shows them all"):
        selected(PLANS, ["crash after write 2"], (1, 1))


@given(st.integers(1, 9))
def test_the_parts_together_are_all_plans_and_none_twice(parts: int) -> None:
    shares = [selected(PLANS, [], (number, parts)) for number in range(1, parts + 1)]

    assert sorted(str(each) for share in shares for each in share) == sorted(map(str, PLANS))


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/b", "-1/2"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="it takes the number of a part and how many there are, such as 2/4"):
        shard_of(text)


AT = {"crash": {"write": "POST pods default/", "occurrence": 1, "landed": True}}


@pytest.mark.parametrize(
    ("at", "complaint", "known"),
    [
        (AT, "a is missing", True),
        (AT, "b is missing", False),
        ({"crash": {**AT["crash"], "occurrence": 2}}, "a is missing", False),
    ],
)
def test_a_failure_is_known_by_its_point_and_its_first_complaint(at: object, complaint: str, known: bool) -> None:
    baseline = [{"at": AT, "complaints": ["c is missing", "a is missing"]}]

    assert is_known({"at": at, "complaints": [complaint, "d is missing"]}, baseline) is known


def test_a_baseline_is_read_and_none_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    assert read_baseline(None) == read_baseline(path) == []
    path.write_text(json.dumps([{"at": AT, "complaints": ["a"]}]), encoding="utf-8")

    assert read_baseline(path) == [{"at": AT, "complaints": ["a"]}]
