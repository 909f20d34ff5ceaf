# SPDX-License-Identifier: Apache-2.0
"""The orders in which a program that missed a change may believe to have seen the steps of a story."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kit.perturbation.recorded_runs import POD, a_run, landed

from apimachinery.http import HTTPRequest
from controller_runtime.testing.perturbation.plans import Crash, Missed
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, STORY, Landed, Told
from controller_runtime.testing.perturbation.unseen import Order, other_orders, parts_in

STATUS = ("status.ready", "status.conditions")


def told(step: int, fields: tuple[str, ...] = STATUS, **more: bool) -> Landed:
    return Landed(2 * step, POD, STORY, step, step, 0, fields, **more)


def own(step: int) -> Landed:
    return Landed(2 * step + 1, POD, MANAGER, 9, step, 0, ("spec.size",))


@pytest.mark.parametrize(
    ("changes", "by_story", "orders"),
    [
        ([told(2), told(3)], True, [(1, 0, 3, 4), (1, 3, 2, 4)]),
        ([told(2), own(3), told(4)], True, [(1, 0, 3, 4), (1, 3, 2, 4), (1, 3, 4, 2)]),
        ([told(2), landed(7, writer=OTHER, step=3)], False, [(1, 0, 3, 4), (1, 3, 2, 4)]),
        ([told(2), landed(7, writer=OTHER, step=2)], False, [(1, 0, 3, 4)]),
        ([told(2, ("status.ready", "spec.size")), told(3)], True, []),
        ([told(2, (), creates=True), told(3)], True, []),
        ([told(2, (), deletes=True), told(3)], True, []),
        ([landed(4, writer=OTHER, step=2, fields=STATUS), told(3)], True, []),
        ([told(3)], True, []),
    ],
)
def test_a_missed_status_is_left_out_or_comes_after_the_steps_up_to_the_change_that_was_seen(
    changes: Sequence[Landed], by_story: bool, orders: Sequence[Order]
) -> None:
    run = a_run(*changes)

    assert [*other_orders(Missed(POD, 4, by_story), run, 4)] == [*orders]
    assert not other_orders(Crash(1, landed=True), run, 4)


STEP, WAIT = Told(HTTPRequest("POST", "/api/v1/pods")), Told(None)


@pytest.mark.parametrize(
    ("order", "prelude", "parts"),
    [
        ((1, 2, 3), 0, (0, 1, 2, 3, 4, 5)),
        ((1, 0, 3), 0, (0, 1, 3, 4, 5)),
        ((1, 3, 2), 0, (0, 1, 4, 3, 2, 5)),
        ((1, 3, 2), 1, (0, 3, 2, 1, 4)),
        ((0, 2, 3), 1, None),
        ((2, 1, 3), 1, None),
    ],
)
def test_the_waits_of_a_story_stay_where_they_are(order: Order, prelude: int, parts: tuple[int, ...] | None) -> None:
    calm = a_run(story=[STEP, WAIT, STEP, WAIT, STEP, WAIT], prelude=prelude)

    assert parts_in(order, calm) == parts
