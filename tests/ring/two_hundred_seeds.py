# SPDX-License-Identifier: Apache-2.0
"""Seeds from 50 to 199 of the profiles in which faults meet, for rare bugs; the first fifty are in `fifty_seeds.py`.

The bugs that `suspensions` and `versions` find are among the first fifty seeds.
"""

from __future__ import annotations

import pytest
from kit.fault_runs.ring import run
from kit.fault_runs.ring_faults import BROWN_OUTS, BURSTS, HANDS, PROFILES

PROFILE_NAMES = tuple(PROFILES)
SEEDS = [seed for seed in range(50, 200) if PROFILE_NAMES[seed % len(PROFILES)] in (BURSTS, BROWN_OUTS, HANDS)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ring_holds(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")

    assert run(seed, profile=PROFILE_NAMES[seed % len(PROFILES)]).message == ""
