# SPDX-License-Identifier: Apache-2.0
"""The example of coroutines, tested as a user of the library would."""

import pytest
from kettle import kettle, setup

from controller_runtime import ObjectKey
from controller_runtime.resources import NODES
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node


@pytest.mark.parametrize("simulation_seed", range(10))
def test_all_kettles_boil_at_the_same_time(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(lambda manager: manager.add(kettle(manager, seconds=3600.0 / 200)))
    for number in range(100):
        cluster.user.create(NODES, a_node(f"node-{number}"))

    simulation.advance(20.0)

    assert len(cluster.user.list(NODES, label_selector="water=hot")) == 100


@pytest.mark.story
def test_the_water_of_each_node_boils_once(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    for name in ("a", "b"):
        cluster.user.create(NODES, a_node(name))
    simulation.advance(5.0)
    assert len(cluster.user.list(NODES, label_selector="water=hot")) == 2

    cluster.user.create(NODES, a_node("c"))
    cluster.user.delete(NODES, ObjectKey("a"))
    simulation.advance(5.0)
    assert len(cluster.user.list(NODES, label_selector="water=hot")) == 2


def test_a_node_that_goes_while_its_water_boils_is_no_error(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(NODES, a_node("a"))
    simulation.advance(0.5)

    cluster.user.delete(NODES, ObjectKey("a"))
    simulation.advance(60.0)

    assert cluster.manager.controllers[0].errors == 0
