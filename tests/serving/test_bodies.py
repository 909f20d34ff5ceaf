# SPDX-License-Identifier: Apache-2.0
"""The memory of reviews: what a body costs, and whose connection makes way if there is not enough."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies

from apimachinery.system import SystemHost
from controller_runtime.serving.bodies import MOST, PER_VALUE, RequestBodies, budget_of, cost_of

MIB = 1024 * 1024
VALUES = strategies.recursive(
    strategies.none() | strategies.integers() | strategies.text(),
    lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
)


@pytest.mark.parametrize(
    ("limit", "budget"),
    [
        pytest.param(256 * MIB, 64 * MIB, id="the generated deployment's"),
        pytest.param(None, MOST, id="none"),
        pytest.param(64 * 1024 * MIB, MOST, id="a large machine"),
    ],
)
def test_reviews_together_take_a_quarter_of_the_memory_limit(limit: int | None, budget: int) -> None:
    assert budget_of(limit) == budget


def values_of(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(values_of(each) for each in inner)


@given(VALUES)
def test_each_value_of_a_body_is_counted_before_it_is_decoded(value: object) -> None:
    assert cost_of(json.dumps([value]).encode()) >= values_of(value) * PER_VALUE


def test_a_body_of_twelve_mebibytes_of_empty_objects_is_more_than_a_small_program_has() -> None:
    assert cost_of(b"[" + b"{}," * (4 * MIB) + b"{}]") > budget_of(256 * MIB)


def test_the_body_that_has_been_arriving_for_longest_makes_way_and_one_that_is_answered_does_not() -> None:
    bodies, dropped = RequestBodies(SystemHost(), 100), list[str]()
    assert bodies.take("answered", 40, lambda: dropped.append("answered"))
    assert bodies.take("answered", 0, None)
    assert bodies.take("old", 30, lambda: dropped.append("old"))
    assert bodies.take("new", 30, lambda: dropped.append("new"))

    assert bodies.take("newest", 20, lambda: dropped.append("newest"))
    assert dropped == ["old"]
    assert not bodies.take("newest", 90, None)
    bodies.give_back("answered")
    assert bodies.take("newest", 80, None)
