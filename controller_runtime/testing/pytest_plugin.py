# SPDX-License-Identifier: Apache-2.0
"""Fixtures that pytest finds when this package is installed; each imports what it needs when it is used.

`simulation` and `cluster` are deterministic, `real_cluster` is not. To search for races, run a test with
many seeds by `@pytest.mark.parametrize("simulation_seed", range(100))`. The marker `embedded_cluster` passes
options to the clusters of the fixtures, such as `@pytest.mark.embedded_cluster(garbage_collection=True)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from controller_runtime.testing.cluster import EmbeddedCluster
    from controller_runtime.testing.simulation import Simulation


_MARKER = "embedded_cluster"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, so that `--strict-markers` accepts it."""
    config.addinivalue_line(
        "markers", f"{_MARKER}(**options): options of `EmbeddedCluster` for the fixtures `cluster` and `real_cluster`"
    )


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the options of the markers; a test's marker overrides its class's, and that overrides its module's."""
    options: dict[str, Any] = {}
    for marker in request.node.iter_markers(_MARKER):
        if marker.args:
            raise pytest.UsageError(f"the marker {_MARKER} takes options by name, not {marker.args}")
        options = {**marker.kwargs, **options}
    return options


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
def cluster(simulation: Simulation, request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """Provide an API server and a manager on one host of `simulation`: add controllers to it, then start it."""
    from controller_runtime.testing.cluster import EmbeddedCluster

    with EmbeddedCluster(simulation.host("cluster"), **_options(request)) as cluster:
        yield cluster


@pytest.fixture
def real_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """Provide the same on this machine, in real time, for code that waits outside of the host, such as on a socket."""
    from controller_runtime.core.system import SystemHost
    from controller_runtime.testing.cluster import EmbeddedCluster

    with EmbeddedCluster(SystemHost(), **_options(request)) as cluster:
        yield cluster
