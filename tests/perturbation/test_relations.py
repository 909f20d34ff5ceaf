# SPDX-License-Identifier: Apache-2.0
"""Values that differ between calm runs are judged by their relations: equal in every run, or in none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from controller_runtime.testing.perturbation.relations import RUNS, Relation, broken, related
from controller_runtime.testing.perturbation.world import State
from embedded_apiserver.perturbation import Name

A, B, SECRET = Name("sites", "n/a"), Name("sites", "n/b"), Name("secrets", "n/a")
PORTS = (A, "port"), (B, "port")


def sites(one: object, other: object) -> State:
    return {A: [{"port": one}], B: [{"port": other}]}


def relations_of(states: Sequence[State], *places: tuple[Name, str]) -> list[Relation]:
    return related(states, frozenset(places or PORTS))


def test_values_that_are_never_equal_in_many_calm_runs_must_differ() -> None:
    relations = relations_of([sites(1 + run % 2, 2 - run % 2) for run in range(RUNS)])

    assert [str(each) for each in broken(sites(1, 1), relations)] == [
        "sites n/a port and sites n/b port are equal here, and in no calm run"
    ]
    assert broken(sites(2, 1), relations) == []
    assert broken({A: [{"port": 1}]}, relations) == []


def test_values_that_are_equal_in_every_calm_run_must_be_equal() -> None:
    relations = relations_of([sites(f"x{run}", f"x{run}") for run in range(RUNS)])

    assert [str(each) for each in broken(sites("x1", "x2"), relations)] == [
        "sites n/a port and sites n/b port differ here, and are equal in each calm run"
    ]
    assert broken(sites("new", "new"), relations) == []


@pytest.mark.parametrize(
    "states",
    [
        [sites(run % 2, run % 2) for run in range(3)],  # as often by chance: one in eight
        [sites(run % 2, 1 - run % 2) for run in range(3)],
        [sites(run, run + 100) for run in range(RUNS)],  # from a range so large that they are never equal
        [sites(run % 2, 0) for run in range(RUNS)],
    ],
)
def test_what_chance_may_show_as_well_is_no_relation(states: list[State]) -> None:
    assert relations_of(states) == []


def test_the_value_of_a_secret_is_compared_with_its_plain_form() -> None:
    def world(plain: str, encoded: str) -> State:
        return {A: [{"hash": plain}], SECRET: [{"data": {"p": encoded}}]}

    places = (A, "hash"), (SECRET, "data.p")
    relations = relations_of([world("one", "b25l"), world("two", "dHdv"), *[world("x", "eA==")] * 6], *places)

    assert broken(world("one", "b25l"), relations) == []
    assert [str(each) for each in broken(world("one", "dHdv"), relations)] == [
        "secrets n/a data.p and sites n/a hash differ here, and are equal in each calm run"
    ]


def test_objects_that_share_a_name_have_no_relations() -> None:
    assert relations_of([{A: [{"port": run}, {"port": run}]} for run in range(RUNS)]) == []
