# SPDX-License-Identifier: Apache-2.0
"""Fixtures that pytest finds when this package is installed; each imports what it needs when it is used.

`simulation` and `cluster` are deterministic, `real_cluster` is not. To search for races, run a test with
many seeds by `@pytest.mark.parametrize("simulation_seed", range(100))`.
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
    """Return the seed that determines every choice of `simulation`; parametrize it to try many."""
    return 0


@pytest.fixture
def simulation(simulation_seed: int) -> Iterator[Simulation]:
    """Provide a simulation: hosts under virtual time. An error in any of its threads fails the test."""
    from controller_runtime.testing.simulation import Simulation

    with Simulation(simulation_seed) as simulation:
        yield simulation


@pytest.fixture
def cluster(simulation: Simulation) -> Iterator[EmbeddedCluster]:
    """Provide an API server and a manager on one host of `simulation`: add controllers to it, then start it."""
    from controller_runtime.testing.cluster import EmbeddedCluster

    with EmbeddedCluster(simulation.host("cluster")) as cluster:
        yield cluster


@pytest.fixture
def real_cluster() -> Iterator[EmbeddedCluster]:
    """Provide the same on this machine, in real time, for code that waits outside of the host, such as on a socket."""
    from controller_runtime.core.system import SystemHost
    from controller_runtime.testing.cluster import EmbeddedCluster

    with EmbeddedCluster(SystemHost()) as cluster:
        yield cluster
