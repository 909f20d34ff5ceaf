# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle: changes of an object between its being read and the write that was decided on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kit.controllers.lifecycle_cluster import LifecycleCluster

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES, NODES, PODS
from controller_runtime.testing.faults import Fault
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.node_lease import NAMESPACE

CONDITIONS, TAINTS, POD = "PATCH nodes/a/status", "PATCH nodes/a", "PATCH namespaces/default/pods/p/status"
GRACE = 50.1


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[LifecycleCluster]:
    """A cluster with a node that has just fallen silent, with a pod, and two healthy nodes."""
    made = LifecycleCluster(sim)
    made.healthy("well-1", "well-2")
    made.healthy("a", renews=None, posts=None)
    made.post("a")
    made.renew("a")
    made.pod("p", "a")
    made.start()
    yield made
    made.end()


def meanwhile(cluster: LifecycleCluster, write: str, act: Callable[[], object]) -> None:
    """Run an action once, just before that write arrives."""
    acts = [act]

    def happens(request: HTTPRequest) -> Fault | None:
        if f"{request.method} {request.path.removeprefix('/api/v1/')}" == write and acts:
            acts.pop()()
        return None

    cluster.fault = happens


@pytest.mark.parametrize("write", [CONDITIONS, TAINTS])
def test_a_node_that_posts_meanwhile_is_well(cluster: LifecycleCluster, write: str) -> None:
    meanwhile(cluster, write, lambda: cluster.post("a"))

    cluster.run(GRACE)

    assert cluster.status("a") == "True"
    assert cluster.taints("a") == []
    assert cluster.lifecycle.errors == 0


@pytest.mark.parametrize("write", [CONDITIONS, TAINTS])
def test_a_node_that_is_made_anew_meanwhile_is_judged_by_itself(cluster: LifecycleCluster, write: str) -> None:
    def make_anew() -> None:
        cluster.world.delete(NODES, ObjectKey("a"))
        cluster.world.delete(LEASES, ObjectKey("a", NAMESPACE))
        cluster.node("a")

    meanwhile(cluster, write, make_anew)

    cluster.run(GRACE + 59.0)
    assert cluster.status("a") == ""
    assert cluster.taints("a") == []

    cluster.run(2.0)
    assert cluster.condition("a")["reason"] == "NodeStatusNeverUpdated"
    assert cluster.lifecycle.errors == 0


def test_a_pod_that_is_made_anew_meanwhile_is_not_marked(cluster: LifecycleCluster) -> None:
    def make_anew() -> None:
        cluster.world.delete(PODS, ObjectKey("p", "default"), grace_period_seconds=0)
        cluster.pod("p", "well-1")

    meanwhile(cluster, POD, make_anew)

    cluster.run(GRACE + 20.0)

    assert cluster.pod_ready("p")["status"] == "True"


def test_what_others_say_of_a_pod_meanwhile_is_kept(cluster: LifecycleCluster) -> None:
    label = {"metadata": {"labels": {"touched": "yes"}}}
    meanwhile(cluster, POD, lambda: cluster.world.patch(PODS, ObjectKey("p", "default"), label))

    cluster.run(GRACE + 20.0)

    assert cluster.world.get(PODS, ObjectKey("p", "default"), dict)["metadata"]["labels"] == {"touched": "yes"}
    assert cluster.pod_ready("p")["status"] == "False"
