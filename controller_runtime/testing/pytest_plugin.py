# SPDX-License-Identifier: Apache-2.0
"""Fixtures that pytest knows once this package is installed; each pays for what it needs when it is used.

`simulation` and `cluster` are deterministic, `real_cluster` is not. To hunt for races, let
`@pytest.mark.parametrize("simulation_seed", range(100))` walk over the seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from controller_runtime.testing.cluster import EmbeddedCluster
    from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def simulation_seed() -> int:
    """From which every choice of `simulation` follows; parametrize it to try many."""
    return 0


@pytest.fixture
def simulation(simulation_seed: int) -> Iterator[Simulation]:
    """A world of hosts under virtual time. What any of its threads fails of fails the test."""
    from controller_runtime.testing.simulation import Simulation

    with Simulation(simulation_seed) as simulation:
        yield simulation


@pytest.fixture
def cluster(simulation: Simulation) -> Iterator[EmbeddedCluster]:
    """An API server and a manager on one host of `simulation`: add controllers to the manager, then start it."""
    from controller_runtime.testing.cluster import EmbeddedCluster

    with EmbeddedCluster(simulation.host("cluster")) as cluster:
        yield cluster


@pytest.fixture
def real_cluster() -> Iterator[EmbeddedCluster]:
    """The same on this machine, in real time: for what waits in the system itself."""
    from controller_runtime.core.system import SystemHost
    from controller_runtime.testing.cluster import EmbeddedCluster

    with EmbeddedCluster(SystemHost()) as cluster:
        yield cluster
