# SPDX-License-Identifier: Apache-2.0
"""The example of coroutines, tested as a user of the library would."""

import pytest
from kettle import kettle

from controller_runtime import NODES
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node


@pytest.mark.parametrize("simulation_seed", range(10))
def test_all_kettles_boil_at_the_same_time(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.manager.add(kettle(cluster.manager, seconds=3600.0 / 200))
    cluster.start()
    for number in range(100):
        cluster.user.create(NODES, a_node(f"node-{number}"))

    simulation.advance(20.0)

    assert len(cluster.user.list(NODES, label_selector="water=hot")) == 100
