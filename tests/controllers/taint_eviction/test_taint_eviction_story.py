# SPDX-License-Identifier: Apache-2.0
"""The life of pods on nodes that are tainted and freed by hand; `tox -e perturb` runs it perturbed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kit.controllers.evicting import TAINT, tolerates

from controller_runtime import Manager, ObjectKey
from controller_runtime.resources import NODES, PODS
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node, a_pod
from controllers.taint_eviction.taint_eviction import taint_eviction

pytestmark = pytest.mark.story


def setup(manager: Manager) -> None:
    manager.add(taint_eviction(manager))


def place(cluster: EmbeddedCluster, name: str, node: str, seconds: int | None = None) -> None:
    pod = a_pod(name, node=node)
    pod["spec"]["tolerations"] = [] if seconds is None else [tolerates(seconds=seconds)]
    cluster.user.create(PODS, pod)


def taint(cluster: EmbeddedCluster, node: str, taints: Sequence[dict[str, str]]) -> None:
    cluster.user.patch(NODES, ObjectKey(node), {"spec": {"taints": [*taints] or None}})


def staying(cluster: EmbeddedCluster) -> list[str]:
    pods = cluster.user.list(PODS, view=dict)
    return sorted(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"])


def test_pods_leave_a_tainted_node_when_their_time_has_come(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    for node in ("m", "n"):
        cluster.user.create(NODES, a_node(node))
    place(cluster, "now", "n")
    place(cluster, "soon", "n", 30)
    place(cluster, "elsewhere", "m")
    simulation.settle()
    assert staying(cluster) == ["elsewhere", "now", "soon"]

    taint(cluster, "n", [TAINT])
    simulation.advance(60.0)
    assert staying(cluster) == ["elsewhere"]


def test_pods_that_come_to_a_node_stay_once_its_taint_is_gone(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(NODES, {**a_node("n"), "spec": {"taints": [TAINT]}})
    simulation.settle()

    taint(cluster, "n", [])
    simulation.settle()
    place(cluster, "web", "n")
    simulation.advance(60.0)
    assert staying(cluster) == ["web"]

    cluster.user.delete(NODES, ObjectKey("n"))
    simulation.advance(60.0)
    assert staying(cluster) == ["web"]


def test_a_pod_stays_that_takes_the_name_of_one_that_had_to_leave(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    cluster.run(setup)
    for node in ("m", "n"):
        cluster.user.create(NODES, a_node(node))
    place(cluster, "web", "n")
    simulation.settle()

    taint(cluster, "n", [TAINT])
    simulation.advance(10.0)
    assert staying(cluster) == []

    cluster.user.delete(PODS, ObjectKey("web", "default"), grace_period_seconds=0)
    place(cluster, "web", "m")
    simulation.advance(10.0)
    assert staying(cluster) == ["web"]


def test_a_taint_that_is_removed_in_time_evicts_nobody(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(NODES, a_node("n"))
    place(cluster, "web", "n", 3600)
    simulation.settle()

    taint(cluster, "n", [TAINT])
    simulation.advance(10.0)
    taint(cluster, "n", [])
    simulation.advance(7200.0)
    assert staying(cluster) == ["web"]
