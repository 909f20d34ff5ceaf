# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of plans."""

from __future__ import annotations

import pytest
from kit.planning.bench import PlanBench

from controller_runtime.testing import Simulation


@pytest.fixture
def bench(sim: Simulation) -> PlanBench:
    """Return a server on which programs can be planned."""
    return PlanBench.of(sim)
