# SPDX-License-Identifier: Apache-2.0
"""The controller of the README, tested as a user of the library would."""

from zone_labels import ZONE, zone_labels

from controller_runtime import NODES, ObjectKey, labels_of
from controller_runtime.testing import EmbeddedCluster, Simulation


def test_the_zone_annotation_becomes_a_label(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("here")) as cluster:
        cluster.manager.add(zone_labels(cluster.manager))
        cluster.start()

        cluster.client.create(NODES, {"metadata": {"name": "n", "annotations": {ZONE: "a"}}})
        sim.settle()

        assert labels_of(cluster.client.get(NODES, ObjectKey("n")))[ZONE] == "a"
