# SPDX-License-Identifier: Apache-2.0
"""A program that deletes all that it can never sends more than its budget, across crashes and with two replicas.

`python -m kit.simulation.mass_deletions 1000`, with `tests` on the path, runs a thousand seeds.
"""

from __future__ import annotations

import pytest
from kit.simulation.mass_deletions import MISTAKES, MOST, run


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


@pytest.mark.parametrize("seed", range(len(MISTAKES)))
def test_no_more_is_sent_than_the_budget(seed: int) -> None:
    told = run(seed)

    assert 0 < told.most <= MOST


@pytest.mark.long
@pytest.mark.parametrize("seed", range(len(MISTAKES), 90))
def test_no_more_is_sent_than_the_budget_in_many_seeds(seed: int) -> None:
    assert run(seed).most <= MOST


def test_without_a_budget_that_bounds_it_everything_is_deleted() -> None:
    told = run(0, elected=False, most=100_000)

    assert told.left == 0
    assert told.most > MOST
