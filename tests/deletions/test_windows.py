# SPDX-License-Identifier: Apache-2.0
"""A budget allows deletions by a pure decision, from those that were reserved before."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import DEPLOYMENTS
from controller_runtime.api.resources import PODS
from controller_runtime.deletions import DeletionBudget
from controller_runtime.deletions.opening import command, malformed, openings
from controller_runtime.deletions.window import (
    BUCKETS,
    MOST_UIDS,
    Opened,
    Reserved,
    WantedDeletions,
    Window,
    condensed,
    decide,
    limit_of,
    needs_total,
)

PER = 600.0
TEN = DeletionBudget(PODS, most=10)
FIFTH = DeletionBudget(PODS, share=0.2)
BOTH = DeletionBudget(PODS, most=10, share=0.2)


def one(until: float = 0.0, uid: str = "", number: int = 1, of: int | None = None) -> Reserved:
    return Reserved(until, number, of, uid)


def of(number: int, *, all_of: int | None = None, opened: Any = ()) -> Window:
    return Window((one(number=number, of=all_of),) if number else (), tuple(opened))


@pytest.mark.parametrize(
    ("window", "budget", "wanted", "total", "is_allowed"),
    [
        pytest.param(of(9), TEN, WantedDeletions("u"), None, True, id="the last of a budget"),
        pytest.param(of(10), TEN, WantedDeletions("u"), None, False, id="one beyond it"),
        pytest.param(of(4), TEN, WantedDeletions(count=6), None, True, id="a collection that fills it"),
        pytest.param(
            of(4), TEN, WantedDeletions(count=7), None, False, id="a collection that does not fit is refused whole"
        ),
        pytest.param(of(0), TEN, WantedDeletions(count=None), None, False, id="an unknown number"),
        pytest.param(of(0), FIFTH, WantedDeletions(count=20), 100, True, id="a share of those that there are"),
        pytest.param(of(0), FIFTH, WantedDeletions(count=21), 100, False, id="one beyond the share"),
        pytest.param(
            of(10, all_of=100), FIFTH, WantedDeletions(count=10), 90, True, id="of those that there were at first"
        ),
        pytest.param(
            of(10, all_of=100), FIFTH, WantedDeletions(count=11), 900, False, id="not of those that came since"
        ),
        pytest.param(of(0), FIFTH, WantedDeletions("u"), 1, True, id="one is always within a share"),
        pytest.param(of(0), FIFTH, WantedDeletions("u"), 0, True, id="also of none, as an empty list has it"),
        pytest.param(of(1, all_of=1), FIFTH, WantedDeletions("u"), 1, False, id="and no second one"),
        pytest.param(of(0), FIFTH, WantedDeletions("u"), None, False, id="a share of an unknown number"),
        pytest.param(
            of(0), BOTH, WantedDeletions(count=11), 1000, False, id="of two bounds the smaller one: the number"
        ),
        pytest.param(of(0), BOTH, WantedDeletions(count=3), 10, False, id="of two bounds the smaller one: the share"),
        pytest.param(of(10, opened=[Opened(0.0, 5)]), TEN, WantedDeletions(count=5), None, True, id="what was opened"),
        pytest.param(
            of(10, opened=[Opened(0.0, 5)]), TEN, WantedDeletions(count=6), None, False, id="no more than was opened"
        ),
        pytest.param(
            of(10, opened=[Opened(0.0, None)]), TEN, WantedDeletions(count=999), None, True, id="any number, if opened"
        ),
        pytest.param(
            of(0, opened=[Opened(0.0, None)]), TEN, WantedDeletions(count=None), None, True, id="also an unknown one"
        ),
    ],
)
def test_a_decision(
    window: Window, budget: DeletionBudget, wanted: WantedDeletions, total: int | None, is_allowed: bool
) -> None:
    assert (decide(window, budget, wanted, 30.0, total) is not None) is is_allowed


def test_an_object_counts_once_however_often_its_deletion_is_tried() -> None:
    window = Window(tuple(one(uid=str(n)) for n in range(10)))

    again = decide(window, TEN, WantedDeletions("3"), 50.0, None)

    assert again is not None
    assert (again.used, again.reserved[-1]) == (10, one(50.0, "3"))


def test_an_object_counts_from_the_end_of_its_last_request() -> None:
    window = Window((one(30.0, "a"),), (Opened(5.0, 1),))

    assert window.at(629.0, PER).used == 1
    assert window.at(630.0, PER) == Window()
    assert window.at(604.9, PER).extra == 1


def test_all_are_counted_once_for_deletions_that_follow_each_other() -> None:
    assert needs_total(Window(), FIFTH, 0.0)
    assert not needs_total(of(1, all_of=9), FIFTH, PER / BUCKETS)
    assert needs_total(of(1, all_of=9), FIFTH, PER / BUCKETS + 1)
    assert not needs_total(Window(), TEN, 0.0)


def test_a_share_is_rounded_down_as_people_calculate() -> None:
    assert limit_of(Window(), DeletionBudget(PODS, share=0.29), 100) == 29


@given(
    st.lists(st.tuples(st.floats(0, 2000), st.integers(1, 4), st.booleans()), max_size=300),
    st.floats(0, 3000),
)
def test_a_condensed_window_never_counts_less(entries: list[tuple[float, int, bool]], now: float) -> None:
    reserved = [one(until, f"u{n}" if is_known else "", 1 if is_known else number, 500)
                for n, (until, number, is_known) in enumerate(entries)]  # fmt: skip
    whole, shorter = Window(tuple(reserved)), Window(condensed(reserved, PER / BUCKETS))

    assert shorter.at(now, PER).used >= whole.at(now, PER).used
    assert shorter.used == whole.used
    assert len([each for each in shorter.reserved if each.uid]) <= MOST_UIDS
    assert [each.until for each in shorter.reserved] == sorted(each.until for each in shorter.reserved)


def test_a_record_of_many_deletions_stays_small() -> None:
    window: Window | None = Window()
    budget = DeletionBudget(PODS, most=100_000)
    for number in range(1000):
        assert window is not None
        window = decide(window.at(number / 5, PER), budget, WantedDeletions(f"{number:036}"), number / 5, None)

    assert window is not None
    assert window.used == 1000
    assert len(json.dumps(window.encoded())) < 10_000


def test_a_window_is_read_as_it_was_written() -> None:
    window = Window((one(1.5, "a", of=3), one(2.5, "", 7)), (Opened(1.0, None), Opened(2.0, 5)))

    assert Window.decoded(json.loads(json.dumps(window.encoded()))) == window


@pytest.mark.parametrize("text", ["[]", "{}", '{"reserved": [[1]], "opened": []}', '{"reserved": 1, "opened": []}'])
def test_anything_else_is_no_window(text: str) -> None:
    with pytest.raises(ValueError, match="no record of deletions"):
        Window.decoded(json.loads(text))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "the deletion budget of pods has no bound: give most"),
        ({"most": 0}, "most is 0"),
        ({"share": 20}, "share is 20, and must be above 0 and at most 1: a fifth is 0.2"),
        ({"most": 1, "per": timedelta(0)}, "per is 0:00:00"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        DeletionBudget(PODS, **options)


def test_a_budget_is_told_with_both_bounds() -> None:
    assert str(DeletionBudget(DEPLOYMENTS, most=3, share=0.25)) == "3 and 25 % of them in 600 s"
    assert DeletionBudget(DEPLOYMENTS, most=3).name == "deployments.apps"


def test_openings_are_read_from_text() -> None:
    assert [*openings("pods=25, deployments.apps=any,Pods=1,x")] == [("pods", 25), ("deployments.apps", None)]
    assert malformed("pods=25,pods=-1") == "pods=-1"
    assert malformed("") == malformed("a.b=any") == ""


def test_the_command_can_be_typed_as_it_is() -> None:
    assert command(ObjectKey("web-deletions", "prod"), "pods", 25) == (
        "kubectl annotate configmap -n prod web-deletions --overwrite controller-runtime/open-deletions=pods=25"
    )
