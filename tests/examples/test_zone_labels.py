# SPDX-License-Identifier: Apache-2.0
"""The controller of the README, tested as a user of the library would."""

from zone_labels import ZONE, setup

from controller_runtime import ObjectKey, labels_of
from controller_runtime.resources import NODES
from controller_runtime.testing import EmbeddedCluster, Simulation


def test_a_zone_becomes_a_label(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(NODES, {"metadata": {"name": "n", "annotations": {ZONE: "a"}}})
    simulation.settle()
    assert labels_of(cluster.user.get(NODES, ObjectKey("n")))[ZONE] == "a"
