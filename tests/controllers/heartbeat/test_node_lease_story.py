# SPDX-License-Identifier: Apache-2.0
"""The life of a node's lease; `tox -e perturb` runs it perturbed."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime import Manager, ObjectKey
from controller_runtime.resources import LEASES, NODES
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node
from controllers.heartbeat.node_lease import NAMESPACE, node_lease

pytestmark = pytest.mark.story

LEASE = ObjectKey("n1", NAMESPACE)


def setup(manager: Manager) -> None:
    manager.add(node_lease(manager.host, manager.client, "n1"))


def test_a_lease_is_renewed_for_minutes_made_again_and_handed_to_a_new_node(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    node = cluster.user.create(NODES, a_node("n1"))
    cluster.run(setup)

    def lease() -> dict[str, Any]:
        return cluster.user.get(LEASES, LEASE, dict)

    simulation.advance(60.0)
    first = lease()
    assert first["metadata"]["ownerReferences"][0]["uid"] == node.uid

    simulation.advance(120.0)
    assert lease()["spec"]["renewTime"] > first["spec"]["renewTime"]

    cluster.user.delete(LEASES, LEASE)
    simulation.advance(60.0)
    assert lease()["metadata"]["uid"] != first["metadata"]["uid"]
    assert lease()["spec"]["holderIdentity"] == "n1"
