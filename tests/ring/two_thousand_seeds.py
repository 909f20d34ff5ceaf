# SPDX-License-Identifier: Apache-2.0
"""Corrections of the ring that are undone are found within 2,000 seeds; minutes each, only collected where it is named.

The faults are drawn, and no schedule names what was corrected. Of all profiles in turn those are run in which faults
meet; the others would find some of it, too.
"""

from __future__ import annotations

import pytest
from kit.fault_runs.ring import run
from kit.fault_runs.ring_faults import BROWN_OUTS, BURSTS, HANDS, PROFILES, SUSPENSIONS, VERSIONS
from kit.ring.planted_ring import UNDONE

PROFILE_NAMES = tuple(PROFILES)
MEETING = (BURSTS, BROWN_OUTS, SUSPENSIONS, HANDS, VERSIONS)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", UNDONE)
def test_an_undone_correction_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    UNDONE[name](monkeypatch)

    in_turn = ((seed, PROFILE_NAMES[seed % len(PROFILE_NAMES)]) for seed in range(2000))
    outcomes = (run(seed, profile=profile) for seed, profile in in_turn if profile in MEETING)
    found = next((outcome for outcome in outcomes if outcome.invariant), None)

    assert found is not None
    print(f"{name}: seed {found.seed}: {found.message}")  # noqa: T201 - pytest -s shows where
