# SPDX-License-Identifier: Apache-2.0
"""How often the threads of a program take turns."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from controller_runtime.program.switching import SWITCH_INTERVAL, short_switches


@pytest.fixture(autouse=True)
def _interval_of_the_tests() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(("before", "inside"), [(0.005, SWITCH_INTERVAL), (0.0001, 0.0001)])
def test_a_program_shortens_the_turns_of_threads_and_leaves_them_as_they_were(before: float, inside: float) -> None:
    sys.setswitchinterval(before)

    with short_switches():
        assert sys.getswitchinterval() == pytest.approx(inside, abs=2e-6)

    assert sys.getswitchinterval() == pytest.approx(before, abs=2e-6)
