# SPDX-License-Identifier: Apache-2.0
"""Calm runs of an operator are made with longer rests until they are alike: how unlike two are is a number."""

from __future__ import annotations

from typing import Any

import pytest
from kit.perturbation.recorded_runs import CLAIM, POD, a_run

from controller_runtime.testing.perturbation.others.calm import unlike_parts
from controller_runtime.testing.perturbation.record import Rest

ONE: dict[str, Any] = {"spec": {"size": 1, "color": "red"}}
OTHER: dict[str, Any] = {"spec": {"size": 2, "color": "blue"}}


@pytest.mark.parametrize(
    ("first", "second", "unlike"),
    [
        ([{POD: [ONE]}], [{POD: [ONE]}], 0),
        ([{POD: [ONE]}], [{POD: [OTHER]}], 2),
        ([{POD: [ONE], CLAIM: [{}]}], [{POD: [ONE]}], 2),  # the object, and its one value
        ([{POD: [ONE]}], [{POD: [ONE]}, {POD: [ONE]}], 1),
    ],
)
def test_two_runs_are_as_unlike_as_they_have_other_values_objects_and_rests(
    first: list[Any], second: list[Any], unlike: int
) -> None:
    runs = [a_run(rests=[Rest(state, step) for step, state in enumerate(states, 1)]) for states in (first, second)]

    assert unlike_parts(*runs) == unlike
