# SPDX-License-Identifier: Apache-2.0
"""A simulation keeps its threads on one CPU, and workers of pytest-xdist choose different ones."""

from __future__ import annotations

import os

import pytest

from controller_runtime.testing import Simulation
from controller_runtime.testing.simulation.process import process_number

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system chooses the CPU alone")


def test_workers_of_xdist_take_turns_over_the_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0)
    chosen = []

    for worker in range(len(before)):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", f"gw{worker}")
        with Simulation(0):
            chosen += os.sched_getaffinity(0)

    assert sorted(chosen) == sorted(before), "each CPU is that of one worker"
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("named", [None, "", "gw", "master"])
def test_a_process_that_is_no_worker_has_its_own_number(monkeypatch: pytest.MonkeyPatch, named: str | None) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    if named is not None:
        monkeypatch.setenv("PYTEST_XDIST_WORKER", named)

    assert process_number() == os.getpid()
