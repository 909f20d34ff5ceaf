# SPDX-License-Identifier: Apache-2.0
"""Wherever the public API takes a function and calls it, a coroutine in its place is an error, and never a success."""

from __future__ import annotations

from typing import Any

import pytest
from kit.given_functions import AWAITED, INNER, PLACES, PROTOCOLS, Bench, places

from apimachinery.errors import UsageError
from controller_runtime.testing import Simulation

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


async def coroutine(*args: object, **options: object) -> Any:
    raise AssertionError("it runs")


def hidden(*args: object, **options: object) -> Any:
    return coroutine()


def test_each_place_where_a_function_is_given_is_listed() -> None:
    """A new parameter that is a function belongs into `PLACES` of `kit/given_functions.py`, with a use of it."""
    assert {*places()} == {*PLACES, *AWAITED, *INNER}


@pytest.mark.parametrize("name", [*PLACES, *PROTOCOLS])
def test_a_coroutine_function_is_refused_where_it_is_given(name: str) -> None:
    with pytest.raises(UsageError, match="is an `async def`"), Simulation(0) as sim:
        {**PLACES, **PROTOCOLS}[name](Bench(sim), coroutine)


@pytest.mark.parametrize("name", [*PLACES, *PROTOCOLS])
def test_a_function_that_returns_a_coroutine_has_failed(name: str) -> None:
    with pytest.raises(UsageError, match="returned a coroutine, which nothing awaits"), Simulation(0) as sim:
        {**PLACES, **PROTOCOLS}[name](Bench(sim), hidden)
