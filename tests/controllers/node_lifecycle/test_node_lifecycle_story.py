# SPDX-License-Identifier: Apache-2.0
"""The life of a cluster with node lifecycle and taint eviction in one manager; `tox -e perturb` runs it perturbed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kit.controllers.bystanders import SILENT, Kubelets
from kit.controllers.evicting import UNREACHABLE, tolerates

from controller_runtime import Manager, ObjectKey
from controller_runtime.resources import NODES, PODS
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node, a_pod
from controllers.node_lifecycle.node_lifecycle import node_lifecycle
from controllers.taint_eviction.taint_eviction import taint_eviction

pytestmark = pytest.mark.story


def setup(manager: Manager) -> None:
    manager.add(node_lifecycle(manager))
    manager.add(taint_eviction(manager))


def tolerating(name: str, node: str, *tolerations: dict[str, Any]) -> dict[str, Any]:
    pod = a_pod(name, node=node)
    pod["spec"]["tolerations"] = [*tolerations]
    return pod


def silence(cluster: EmbeddedCluster, node: str, *, silent: bool) -> None:
    cluster.user.patch(NODES, ObjectKey(node), {"metadata": {"annotations": {SILENT: "yes" if silent else None}}})


def taints(cluster: EmbeddedCluster, node: str) -> set[str]:
    found = cluster.user.get(NODES, ObjectKey(node), dict)["spec"].get("taints", [])
    return {f"{each['key'].partition('/')[2]}:{each['effect']}" for each in found}


def staying(cluster: EmbeddedCluster) -> list[str]:
    pods = cluster.user.list(PODS, view=dict)
    return sorted(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"])


@pytest.fixture(autouse=True)
def kubelets(simulation: Simulation, cluster: EmbeddedCluster) -> Iterator[None]:
    with Kubelets(simulation, cluster):
        yield


# The first story ends before the node returns: a silence of which a manager sees nothing evicts no pod, as it should,
# and then the two runs would end differently.


def test_a_silent_node_loses_the_pods_that_do_not_tolerate_it(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    for name in ("a", "b"):
        cluster.user.create(NODES, a_node(name, ready=None))
    cluster.user.create(PODS, tolerating("patient", "a", tolerates(UNREACHABLE)))
    cluster.user.create(PODS, tolerating("short", "a", tolerates(UNREACHABLE, 30)))
    cluster.user.create(PODS, tolerating("plain", "a", tolerates(UNREACHABLE, 0)))
    cluster.user.create(PODS, tolerating("elsewhere", "b", tolerates(UNREACHABLE, 0)))
    simulation.advance(30.0)
    assert taints(cluster, "a") == taints(cluster, "b") == set()

    silence(cluster, "a", silent=True)
    simulation.advance(150.0)
    assert taints(cluster, "a") == {"unreachable:NoSchedule", "unreachable:NoExecute"}
    assert taints(cluster, "b") == set()
    assert staying(cluster) == ["elsewhere", "patient"]


def test_a_node_that_returns_in_time_keeps_its_pods(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    for name in ("a", "b"):
        cluster.user.create(NODES, a_node(name, ready=None))
    cluster.user.create(PODS, tolerating("web", "a", tolerates(UNREACHABLE, 3600)))
    simulation.advance(30.0)

    silence(cluster, "a", silent=True)
    simulation.advance(80.0)
    assert taints(cluster, "a") == {"unreachable:NoSchedule", "unreachable:NoExecute"}

    silence(cluster, "a", silent=False)
    simulation.advance(60.0)
    assert taints(cluster, "a") == set()

    cluster.user.delete(NODES, ObjectKey("b"))
    simulation.advance(30.0)
    assert staying(cluster) == ["web"]
