# SPDX-License-Identifier: Apache-2.0
"""The controller of a custom kind, tested as a user of the library would."""

from __future__ import annotations

import pytest
from custom_resource import DEFINITION, DEFINITIONS, RACK, RACKS, racks

from controller_runtime import NODES, Invalid, ObjectKey
from controller_runtime.testing import EmbeddedCluster, Simulation


def test_a_rack_counts_its_nodes_and_closes_them(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("here")) as cluster:
        cluster.user.create(DEFINITIONS, DEFINITION)
        cluster.run(lambda manager: manager.add(racks(manager)))
        cluster.user.create(RACKS, {"metadata": {"name": "a"}, "spec": {"room": "cellar"}})
        cluster.user.create(NODES, {"metadata": {"name": "n", "labels": {RACK: "a"}}})
        sim.settle()

        cluster.user.patch(RACKS, ObjectKey("a"), {"spec": {"closed": True}})
        sim.settle()

        assert cluster.user.get(RACKS, ObjectKey("a"))["status"] == {"nodes": 1}
        assert cluster.user.get(NODES, ObjectKey("n"), dict)["spec"]["unschedulable"]


def test_a_rack_without_a_room_is_refused(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("here")) as cluster:
        cluster.user.create(DEFINITIONS, DEFINITION)

        with pytest.raises(Invalid, match=r"spec\.room: Required value"):
            cluster.user.create(RACKS, {"metadata": {"name": "a"}, "spec": {}})
