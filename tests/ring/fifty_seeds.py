# SPDX-License-Identifier: Apache-2.0
"""Fifty seeds of a ring under faults, by which planted bugs are found; only collected where the file is named."""

from __future__ import annotations

import pytest
from kit.fault_runs.ring import run
from kit.fault_runs.ring_faults import PROFILES

PROFILE_NAMES = tuple(PROFILES)


@pytest.mark.parametrize("seed", range(50))
def test_a_ring_holds(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")

    assert run(seed, profile=PROFILE_NAMES[seed % len(PROFILE_NAMES)]).message == ""
