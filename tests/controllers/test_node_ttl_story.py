# SPDX-License-Identifier: Apache-2.0
"""The life of a cluster that grows and shrinks, and the TTL of its nodes; `tox -e perturb` runs it perturbed."""

from __future__ import annotations

import pytest

from controller_runtime import Manager, ObjectKey, annotations_of
from controller_runtime.resources import NODES
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node
from controllers import node_ttl as module
from controllers.node_ttl import ANNOTATION, TTLStep, node_ttl

pytestmark = pytest.mark.story

SMALL = (TTLStep(0, 4, 0), TTLStep(3, 6, 15), TTLStep(6, 2**31 - 1, 30))
"""Kubernetes' table for clusters of a handful of nodes: each node more is a story of its own."""


def setup(manager: Manager) -> None:
    manager.add(node_ttl(manager))


def join(cluster: EmbeddedCluster, *numbers: int) -> None:
    for number in numbers:
        cluster.user.create(NODES, a_node(f"n-{number}"))


def leave(cluster: EmbeddedCluster, *numbers: int) -> None:
    for number in numbers:
        cluster.user.delete(NODES, ObjectKey(f"n-{number}"))


def ttls(cluster: EmbeddedCluster) -> set[str | None]:
    return {annotations_of(node).get(ANNOTATION) for node in cluster.user.list(NODES, view=dict)}


def test_all_nodes_have_the_ttl_of_the_clusters_size(
    simulation: Simulation, cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STEPS", SMALL)
    cluster.run(setup)
    join(cluster, 0, 1, 2)
    simulation.advance(30.0)
    assert ttls(cluster) == {"0"}

    join(cluster, 3, 4)
    simulation.advance(30.0)
    assert ttls(cluster) == {"15"}

    join(cluster, 5, 6)
    simulation.advance(30.0)
    assert ttls(cluster) == {"30"}

    leave(cluster, 0, 1, 2, 3, 4, 5)
    simulation.advance(30.0)
    assert ttls(cluster) == {"0"}
    # Two nodes, which only the first step has: where steps overlap, a TTL depends on the sizes before it, and a manager
    # may have missed some of these.
    join(cluster, 0)
    simulation.advance(30.0)
    assert ttls(cluster) == {"0"}
