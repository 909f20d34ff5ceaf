# SPDX-License-Identifier: Apache-2.0
"""Replicas whose reconciler is a coroutine, under faults: the same invariants hold as for threads."""

from __future__ import annotations

import pytest
from kit.fault_runs.drawing import PROFILES
from kit.fault_runs.replicas import run
from kit.simulation.async_work import Witness, async_work

from controller_runtime.testing.simulation.system_faults import FaultKind, SystemFault

pytestmark = pytest.mark.once

PROFILE_NAMES = tuple(PROFILES)


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


@pytest.mark.parametrize("seed", range(18))
def test_coroutines_hold_the_invariants_under_faults_of_every_profile(seed: int) -> None:
    """One leader, no write after its deadline, no lost update, all work done; and no key twice at a time."""
    witness = Witness()

    outcome = run(seed, profile=PROFILE_NAMES[seed % len(PROFILE_NAMES)], work=async_work(witness))

    assert (outcome.message, witness.overlaps, witness.late) == ("", [], [])
    assert witness.ended > 0


def test_cancellations_happen_in_these_runs_and_some_are_ignored() -> None:
    witness = Witness()

    run(3, profile="calm", work=async_work(witness))

    assert witness.cancelled > witness.ignored > 0


@pytest.mark.parametrize(
    "script",
    [
        pytest.param((SystemFault(FaultKind.PAUSE, "r2", 25.0, 27.0),), id="a leader frozen for longer than its lease"),
        pytest.param(
            (SystemFault(FaultKind.CUT, "r2", 25.0, 12.0),), id="a leader cut off for longer than its deadline"
        ),
        pytest.param((SystemFault(FaultKind.STOP, "r2", 25.0, 1.0),), id="a leader that is stopped"),
        pytest.param((SystemFault(FaultKind.CRASH, "r2", 25.0, 1.0),), id="a leader that crashes"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_leader_that_loses_its_lease_in_the_middle_writes_nothing_more(
    seed: int, script: tuple[SystemFault, ...]
) -> None:
    witness = Witness()

    outcome = run(seed, script=script, work=async_work(witness))

    assert (outcome.message, witness.overlaps, witness.late) == ("", [], [])


def test_the_same_seed_gives_the_same_run() -> None:
    digests = {run(5, work=async_work(Witness())).digest for _ in range(2)}

    assert len(digests) == 1
