# SPDX-License-Identifier: Apache-2.0
"""Replicas under faults: the invariants hold, planted errors are found, and failures can be repeated and shrunk.

`tox -e simulation` runs a thousand seeds.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest
from kit.fault_runs import replicas as system
from kit.fault_runs.drawing import PROFILES
from kit.fault_runs.outcome import Outcome
from kit.fault_runs.replicas import run
from kit.simulate import smallest
from kit.simulation.planted import NeverLapses, ReleasesWithoutLooking, fenced_at_the_beginning, release_without_looking

from apimachinery.http import HTTPRequest
from controller_runtime.election import elector, fenced
from controller_runtime.testing.faults import Delayed, FaultyTransport
from controller_runtime.testing.simulation import SimulatedHost
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import FaultKind, Script, SystemFault

pytestmark = pytest.mark.once

PROFILE_NAMES = tuple(PROFILES)


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


@pytest.mark.parametrize("seed", range(20))
def test_the_system_holds_under_faults_of_every_profile(seed: int) -> None:
    outcome = run(seed, profile=PROFILE_NAMES[seed % len(PROFILE_NAMES)])

    assert outcome.message == ""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param((SystemFault(FaultKind.PAUSE, "r2", 25.0, 27.0),), id="a leader frozen for longer than its lease"),
        pytest.param(
            (SystemFault(FaultKind.CUT, "r2", 25.0, 12.0),), id="a leader cut off for longer than its deadline"
        ),
        pytest.param(
            (SystemFault(FaultKind.CRASH, "r2", 25.0, 1.0), SystemFault(FaultKind.CRASH, "r0", 26.0, 1.0)),
            id="two crashes",
        ),
        pytest.param((SystemFault(FaultKind.CRASH, "server", 30.0, 8.0),), id="the server killed and back on its disk"),
        pytest.param(
            (SystemFault(FaultKind.JUMP, "server", 20.0, -7200.0), SystemFault(FaultKind.CRASH, "server", 30.0, 2.0)),
            id="clock",
        ),
        pytest.param(
            (SystemFault(FaultKind.STOP, "r2", 25.0, 1.0), SystemFault(FaultKind.PAUSE, "r2", 25.0, 20.0)),
            id="frozen at its stop",
        ),
        pytest.param(
            (SystemFault(FaultKind.PAUSE, "server", 83.2, 19.6), SystemFault(FaultKind.PAUSE, "r0", 117.9, 21.2)),
            id="a release too late",
        ),
    ],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_system_holds_in_kept_scripts(script: Script, seed: int) -> None:
    assert run(seed, script=script).message == ""


def first_failure(seeds: int, profile: str) -> Outcome:
    for seed in range(seeds):
        outcome = run(seed, profile=profile)
        if outcome.invariant:
            return outcome
    raise AssertionError(f"not found in {seeds} seeds")


def test_a_renewal_that_is_not_bounded_is_found_within_10_seeds_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elector, "Term", NeverLapses)

    found = first_failure(10, "freezes")
    small = smallest(found)

    assert small.invariant == found.invariant
    assert small.invariant in ("one leader at most", "no write after the deadline")
    assert len(small.script) <= len(found.script)
    for at in range(len(small.script)):
        spared = (*small.script[:at], *small.script[at + 1 :])
        assert run(small.seed, script=spared).invariant != small.invariant, "a fault was left in that is not needed"


def test_a_release_without_a_fresh_look_is_found_within_20_seeds_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed in six finds it with this profile, and one in fifteen with `freezes`, where stops hide it."""
    monkeypatch.setattr(fenced, "LeaderElector", ReleasesWithoutLooking)
    monkeypatch.setattr(elector, "release", release_without_looking)

    found = first_failure(20, "standstills")
    small = smallest(found)

    assert found.invariant == small.invariant == "one leader at most"
    assert len(small.script) <= min(4, len(found.script))


class Hesitant(FaultyTransport):
    """Delays some writes before they are sent, as a transport does that waits for credentials or after a 429."""

    def __init__(self, network: Network, host: SimulatedHost) -> None:
        chance = random.Random(host.name)

        def hesitates(number: int, request: HTTPRequest) -> Delayed | None:
            is_slow = request.method == "PATCH" and chance.random() < 0.3
            return Delayed(12.0 * chance.random()) if is_slow else None

        super().__init__(host, NetworkTransport(network, host), hesitates)


@pytest.mark.parametrize("seed", range(8))
def test_no_write_begins_after_the_deadline_whatever_it_waits_for(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NetworkTransport", Hesitant)

    assert run(seed, profile=PROFILE_NAMES[seed % len(PROFILE_NAMES)]).message == ""


def test_a_fence_that_bounds_only_the_beginning_is_found_within_20_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NetworkTransport", Hesitant)
    monkeypatch.setattr(fenced, "leadership_limit", fenced_at_the_beginning)

    assert first_failure(20, "freezes").invariant == "no write after the deadline"


def test_a_script_repeats_the_very_run_that_wrote_it() -> None:
    drawn = run(4, profile="broad")

    assert drawn.script
    assert run(4, script=drawn.script) == drawn


def test_another_process_with_another_hash_seed_gives_the_same_run() -> None:
    program = "from kit.fault_runs.replicas import run; print(run(4).digest)"
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == run(4).digest
