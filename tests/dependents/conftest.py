# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of owned objects."""

from __future__ import annotations

import pytest
from kit.owning import OwningBench

from controller_runtime.testing import EmbeddedCluster, Simulation


@pytest.fixture
def bench(cluster: EmbeddedCluster, simulation: Simulation) -> OwningBench:
    """Return a cluster on which a controller of sites can be run."""
    return OwningBench(cluster, simulation)
