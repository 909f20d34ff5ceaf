# SPDX-License-Identifier: Apache-2.0
"""Caches under lag, cuts, compacted histories and restored servers: the invariants hold, planted errors are found.

`tox -e simulation` runs a thousand seeds.
"""

from __future__ import annotations

import pytest
from kit.fault_runs.caches import PROFILES, run
from kit.simulate import smallest
from kit.simulation.planted_caches import (
    BelievesInItsVersion,
    ForgetsWhatWasMissed,
    ResumesFromItsList,
    TellsOfNoDeletions,
)

from controller_runtime.cache import informer
from controller_runtime.testing.simulation.system_faults import FaultKind, Script, SystemFault

pytestmark = pytest.mark.once

PROFILE_NAMES = tuple(PROFILES)


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


@pytest.mark.parametrize("seed", range(20))
def test_caches_hold_under_faults_of_every_profile(seed: int) -> None:
    outcome = run(seed, profile=PROFILE_NAMES[seed % len(PROFILE_NAMES)])

    assert outcome.message == ""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param((SystemFault(FaultKind.REWIND, "server", 100.0, 1.0),), id="a server that comes back older"),
        pytest.param(
            (SystemFault(FaultKind.CUT, "pages", 90.0, 200.0), SystemFault(FaultKind.RESTORE, "server", 100.0, 1.0)),
            id="the same while a reader is away, with versions that go on",
        ),
        pytest.param(
            (SystemFault(FaultKind.SLOW_REPLY, "streams", 0, 20.0),), id="a watch that lags from its beginning"
        ),
        pytest.param(
            (SystemFault(FaultKind.LOSE_REPLY, "streams", 1, 0.0), SystemFault(FaultKind.CUT, "server", 50.0, 60.0)),
            id="half open",
        ),
        pytest.param(
            tuple(SystemFault(FaultKind.CRASH, "server", 20.0 * n, 5.0) for n in range(1, 15)), id="killed every 20 s"
        ),
    ],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_caches_hold_in_kept_scripts(script: Script, seed: int) -> None:
    assert run(seed, script=script).message == ""


@pytest.mark.parametrize(
    ("part", "wrong", "seeds", "invariants"),
    [
        pytest.param(
            "Reflector", ResumesFromItsList, 20, {"never back", "the changes add up"}, id="resumes from its list"
        ),
        pytest.param("Reflector", ForgetsWhatWasMissed, 5, {"converges"}, id="watches on after an expired version"),
        pytest.param("Reflector", BelievesInItsVersion, 20, {"converges"}, id="never asks for the most recent"),
        pytest.param(
            "Store",
            TellsOfNoDeletions,
            5,
            {"the changes add up", "no gap, no repetition"},
            id="skips deletions on relist",
        ),
    ],
)
def test_a_wrong_cache_is_found_within_so_many_seeds(
    monkeypatch: pytest.MonkeyPatch, part: str, wrong: type, seeds: int, invariants: set[str]
) -> None:
    monkeypatch.setattr(informer, part, wrong)

    runs = (run(seed, profile=PROFILE_NAMES[seed % len(PROFILE_NAMES)]) for seed in range(seeds))

    assert next(outcome.invariant for outcome in runs if outcome.invariant) in invariants


def test_what_makes_a_wrong_cache_fail_shrinks_to_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informer, "Reflector", BelievesInItsVersion)

    small = smallest(run(7, profile="backups"), run)

    assert small.invariant == "converges"
    assert [fault.kind for fault in small.script] == [FaultKind.REWIND]


def test_a_script_repeats_the_very_run_that_wrote_it() -> None:
    drawn = run(4, profile="broad")

    assert drawn.script
    assert run(4, script=drawn.script) == drawn
