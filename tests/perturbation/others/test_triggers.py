# SPDX-License-Identifier: Apache-2.0
"""A plan happens in another run at what the operator does there, though its writes have other numbers."""

from __future__ import annotations

from collections import Counter

import pytest

from controller_runtime.testing.perturbation.others.triggers import in_turn, kind_of, trigger_of
from controller_runtime.testing.perturbation.plans import Crash, Lag, Missed, Plan, Restart, Stale
from controller_runtime.testing.perturbation.record import MANAGER, STORY, Landed, Rest, Run, Sent
from embedded_apiserver.perturbation.names import Name
from embedded_apiserver.perturbation.triggers import AtChange, AtRest, AtWrite, Trigger, matches

CABIN, POD = Name("cabins.example.com", "default/a"), Name("pods", "default/a-*")


def landed(version: int, name: Name, writer: str = MANAGER) -> Landed:
    return Landed(version, name, writer, version, 1, 1, creates=True)


CALM = Run(
    sent=[
        Sent(1, "POST", "pods default/"),
        Sent(2, "PATCH", "pods default/a-x7f2k status"),
        Sent(3, "PATCH", "pods default/a-9k3lm status"),
        Sent(4, "PATCH", "cabins.example.com default/a status"),
    ],
    rests=[Rest({}), Rest({}, reached=5)],
    landed=[landed(1, CABIN, STORY), landed(2, POD), landed(3, POD), landed(5, CABIN)],
)


@pytest.mark.parametrize(
    ("plan", "trigger"),
    [
        pytest.param(Crash(1, landed=False), AtWrite("POST pods default/", 1, landed=False), id="a creation"),
        pytest.param(Crash(3, landed=True), AtWrite("PATCH pods default/* status", 2, landed=True), id="of two"),
        pytest.param(Crash(9, landed=True), None, id="a write that there was not"),
        pytest.param(Restart(0), AtRest(0), id="a restart before all changes"),
        pytest.param(Restart(1), AtRest(1, "", 0, str(CABIN), 2), id="a restart"),
        pytest.param(Stale("pods", 3, 1), AtRest(1, "pods", 2, str(CABIN), 2), id="a restart with an old view"),
        pytest.param(Lag("cabins.example.com", 5), AtChange("cabins.example.com", "", 2, is_missed=False), id="late"),
        pytest.param(
            Missed(CABIN, 5, by_story=False),
            AtChange("cabins.example.com", str(CABIN), 2, is_missed=True),
            id="missed",
        ),
    ],
)
def test_a_plan_is_told_by_what_happened_in_the_calm_run(plan: Plan, trigger: Trigger | None) -> None:
    assert trigger_of(plan, CALM) == trigger


def test_generated_names_do_not_tell_writes_apart() -> None:
    assert kind_of(Sent(7, "DELETE", "pods default/a-zzzzz"), CALM) == "DELETE pods default/*"


def test_a_change_is_found_by_its_place_among_those_of_its_object() -> None:
    trigger = AtChange("pods", str(POD), 2, is_missed=True)

    assert not matches(trigger, POD, Counter({str(POD): 1, "pods": 4}))
    assert matches(trigger, POD, Counter({str(POD): 2, "pods": 5}))
    assert not matches(trigger, Name("pods", "default/b"), Counter({str(POD): 2}))


def test_the_patterns_take_turns_so_that_a_small_budget_has_all() -> None:
    crashes, late = [Crash(1, landed=True), Crash(2, landed=True)], [Lag("pods", 1), Lag("pods", 2)]

    assert in_turn([*crashes, *late]) == [crashes[0], late[0], crashes[1], late[1]]
