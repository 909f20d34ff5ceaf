# SPDX-License-Identifier: Apache-2.0
"""Heartbeats under faults: every lease is renewed soon after, no time goes back, and planted errors are found.

`tox -e simulation` runs a thousand seeds.
"""

from __future__ import annotations

from typing import Any

import pytest
from kit.fault_runs.drawing import script_to_json
from kit.simulation import heartbeat_faults, planted_heartbeats
from kit.simulation.heartbeat_faults import run

from controller_runtime.testing.simulation.system_faults import FaultKind, Script, SystemFault
from controllers.heartbeat import lease_heartbeat

pytestmark = pytest.mark.once

SEEDS = 20


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


def failure_of(seed: int) -> str:
    """Return the violation and the script that repeats it; empty if all invariants hold."""
    outcome = run(seed)
    return f"{outcome.message}\nseed {seed}, {script_to_json(outcome.script)}" if outcome.invariant else ""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_after_the_faults_every_lease_is_renewed_within_one_interval_and_no_time_went_back(seed: int) -> None:
    assert failure_of(seed) == ""


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_it_holds_for_a_thousand_seeds() -> None:
    assert [failed for seed in range(SEEDS, 1000) if (failed := failure_of(seed))] == []


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            (SystemFault(FaultKind.CRASH, "server", 20.0, 30.0),), id="the server gone for longer than the pauses grow"
        ),
        pytest.param((SystemFault(FaultKind.PAUSE, "hollow", 30.0, 29.0),), id="the nodes frozen for three intervals"),
        pytest.param((SystemFault(FaultKind.CUT, "hollow", 40.0, 19.9),), id="the network cut"),
        pytest.param(
            (SystemFault(FaultKind.JUMP, "hollow", 20.0, -7200.0), SystemFault(FaultKind.CRASH, "hollow", 40.0, 1.0)),
            id="started anew with a clock that was set back",
        ),
        pytest.param(
            (SystemFault(FaultKind.JUMP, "hollow", 20.0, 7200.0), SystemFault(FaultKind.JUMP, "hollow", 40.0, -7200.0)),
            id="clock",
        ),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_holds_in_kept_scripts(script: Script, seed: int) -> None:
    assert run(seed, script=script).message == ""


@pytest.mark.parametrize(
    ("part", "planted", "invariant", "seeds"),
    [
        pytest.param("next_renew_time", planted_heartbeats.wall_clock, "no time goes back", 40, id="wall clock"),
        pytest.param("renew_time_of", planted_heartbeats.short_memory, "no time goes back", 150, id="short memory"),
        pytest.param(
            "lease_to_write", planted_heartbeats.same_time, "every lease is renewed", 2, id="the same time again"
        ),
        pytest.param("advance", planted_heartbeats.resigned, "every lease is renewed", 20, id="gives up"),
        pytest.param("advance", planted_heartbeats.stubborn, "every lease is renewed", 20, id="reads no conflict"),
        pytest.param("advance", planted_heartbeats.hasty, "one beat an interval", 10, id="too many beats"),
    ],
)
def test_a_heartbeat_that_is_wrong_is_found_within_so_many_seeds(
    monkeypatch: pytest.MonkeyPatch, part: str, planted: Any, invariant: str, seeds: int
) -> None:
    monkeypatch.setattr(lease_heartbeat, part, planted)

    found = next((outcome.invariant for seed in range(seeds) if (outcome := run(seed)).invariant), "")

    assert found == invariant


def test_the_same_seed_is_the_same_run() -> None:
    assert run(4) == run(4)
    assert run(4).steps > heartbeat_faults.NODES * 100
