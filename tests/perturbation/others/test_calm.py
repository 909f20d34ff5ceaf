# SPDX-License-Identifier: Apache-2.0
"""The runs without a fault of an operator in any language: how many are made, and how long their rests are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kit.perturbation.recorded_runs import POD, a_run

from controller_runtime.testing.perturbation.others.calm import agreeing
from controller_runtime.testing.perturbation.record import Rest, Run


def run_with(values: Sequence[int]) -> Run:
    return a_run(rests=[Rest({POD: [{"spec": dict(enumerate(values))}]})])


EIGHT = [*range(8)]


@pytest.mark.parametrize(
    ("values", "count", "kept", "quiet"),
    [
        ([EIGHT, EIGHT], 2, 2, 1.0),
        ([EIGHT, EIGHT[::-1], EIGHT[::-1]], 3, 2, 2.0),
        ([EIGHT, EIGHT[::-1], EIGHT], 3, 3, 1.0),  # they differ by themselves
        ([EIGHT, EIGHT[::-1], [7, 6, 5, 4, 0, 0, 0, 0], [7, 6, 5, 4, 0, 0, 0, 1], [7, 6, 5, 4, 0, 0, 0, 1]], 4, 2, 4.0),
    ],
)
def test_at_most_four_runs_are_made_until_two_agree_each_with_longer_rests(
    values: list[list[int]], count: int, kept: int, quiet: float
) -> None:
    runs, lengths, said = [run_with(each) for each in values], list[float](), list[str]()
    further = iter(runs[2:])

    def make(seconds: float) -> Run:
        lengths.append(seconds)
        return next(further)

    found, seconds, number = agreeing(runs[:2], 1.0, make, said.append)

    assert (number, len(found), seconds) == (count, kept, quiet)
    assert lengths == [2.0, 4.0, 8.0][: count - 2]
    assert found == runs[count - kept : count]
    assert len(said) == (quiet > 1) + (quiet > 2)
