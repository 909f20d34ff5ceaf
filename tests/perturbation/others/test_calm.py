# SPDX-License-Identifier: Apache-2.0
"""Calm runs of an operator are made with longer rests until they are alike: how unlike two are is a number."""

from __future__ import annotations

from typing import Any

import pytest
from kit.perturbation.recorded_runs import CLAIM, POD, a_run

from apimachinery.system import SystemHost
from controller_runtime.testing.perturbation.others.calm import unlike_parts
from controller_runtime.testing.perturbation.others.settings import Settings
from controller_runtime.testing.perturbation.others.story import Story
from controller_runtime.testing.perturbation.record import Rest
from embedded_apiserver import make_certificates

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


def test_runs_that_confirm_a_failure_rest_as_long_as_calm_ones() -> None:
    settings = Settings(command=(), story=Story((), ()), certificates=make_certificates(SystemHost().now()), quiet=2.0)

    assert settings.patient.rest(is_calm=False) == settings.rest(is_calm=True) > settings.rest(is_calm=False)
