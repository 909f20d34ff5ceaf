# SPDX-License-Identifier: Apache-2.0
"""A zone that is named, changed and taken back; `tox -e perturb` runs it perturbed."""

from __future__ import annotations

import pytest
from zone_labels import ZONE, setup

from controller_runtime import ObjectKey, labels_of
from controller_runtime.resources import NODES
from controller_runtime.testing import EmbeddedCluster, Simulation

pytestmark = pytest.mark.story


def test_the_label_follows_the_annotation(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(NODES, {"metadata": {"name": "n", "annotations": {ZONE: "a"}}})
    simulation.settle()
    assert labels_of(cluster.user.get(NODES, ObjectKey("n")))[ZONE] == "a"

    cluster.user.patch(NODES, ObjectKey("n"), {"metadata": {"annotations": {ZONE: "b"}}})
    simulation.settle()
    assert labels_of(cluster.user.get(NODES, ObjectKey("n")))[ZONE] == "b"

    cluster.user.patch(NODES, ObjectKey("n"), {"metadata": {"annotations": {ZONE: None}}})
    simulation.settle()
    assert ZONE not in labels_of(cluster.user.get(NODES, ObjectKey("n")))
