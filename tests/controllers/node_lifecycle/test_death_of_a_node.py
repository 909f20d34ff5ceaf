# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle and taint eviction together, on hollow nodes with pods: which pods are deleted when nodes die."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from controller_runtime.api.resources import PODS
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation
from controllers.hollow.nodes import HollowNodes
from controllers.hollow.pod_maker import PodMaker
from controllers.hollow.pods import HollowPods
from controllers.hollow.selection import Selection
from controllers.node_lifecycle.node_lifecycle import node_lifecycle
from controllers.taint_eviction.taint_eviction import taint_eviction

pytestmark = pytest.mark.ends

NODES, PODS_EACH = 12, 2
TOLERATED = 300.0
EARLIEST, LATEST = 50.0 - 10.0, 50.0 + 5.0
"""Seconds after the death until the node is tainted: its last renewal was up to 10 s before."""


class Cluster:
    """A cluster of twelve nodes in three zones, with two pods each."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.cluster = EmbeddedCluster(sim.host("all"))
        manager = self.cluster.manager
        self.nodes = HollowNodes(manager.host, manager.client, NODES)
        for thing in (
            self.nodes,
            HollowPods(manager, self.nodes.is_running),
            PodMaker(manager.host, manager.client, NODES * PODS_EACH, NODES),
            node_lifecycle(manager),
            taint_eviction(manager),
        ):
            manager.add(thing)
        self.cluster.start()
        sim.advance(100.0)

    def pods(self) -> dict[str, dict[str, Any]]:
        return {pod["metadata"]["name"]: pod for pod in self.cluster.user.list(PODS, view=dict)}

    def leaving(self) -> set[str]:
        """Return the nodes whose pods have been deleted; each of them has lost all its pods."""
        pods = self.pods().values()
        found = {pod["spec"]["nodeName"] for pod in pods if "deletionTimestamp" in pod["metadata"]}
        kept = {pod["spec"]["nodeName"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}
        assert not found & kept, "some of a node's pods and not all of them"
        return found


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[Cluster]:
    cluster = Cluster(sim)
    assert {pod["status"]["phase"] for pod in cluster.pods().values()} == {"Running"}
    yield cluster
    cluster.cluster.stop()


@pytest.mark.scenario("F-40")
def test_the_pods_of_a_dead_node_in_a_healthy_zone_are_deleted_in_time_and_go_when_it_returns(cluster: Cluster) -> None:
    """The node is tainted after 40 to 55 s, its pods are deleted 300 s later, and go once their kubelet is back."""
    cluster.nodes.kill(Selection(names=("hollow-00000",)))

    cluster.sim.advance(EARLIEST + TOLERATED - 1.0)
    assert cluster.leaving() == set()
    cluster.sim.advance(LATEST - EARLIEST + 2.0)
    assert cluster.leaving() == {"hollow-00000"}

    cluster.sim.advance(600.0)
    assert len(cluster.pods()) == NODES * PODS_EACH, "nobody is there to end them"
    cluster.nodes.revive(Selection(names=("hollow-00000",)))
    cluster.sim.advance(30.0)
    assert len(cluster.pods()) == (NODES - 1) * PODS_EACH
    assert {pod["status"]["phase"] for pod in cluster.pods().values()} == {"Running"}


@pytest.mark.scenario("F-43")
def test_a_node_that_is_back_in_time_keeps_its_pods(cluster: Cluster) -> None:
    """The node is dead for five minutes, which is less than the grace period and the toleration together."""
    cluster.nodes.kill(Selection(names=("hollow-00000",)))
    cluster.sim.advance(300.0)

    cluster.nodes.revive(Selection(names=("hollow-00000",)))
    cluster.sim.advance(1000.0)

    pods = cluster.pods().values()
    assert len(pods) == NODES * PODS_EACH
    assert all(one["status"] == "True" for pod in pods for one in pod["status"]["conditions"])


def test_the_pods_of_a_zone_are_deleted_node_by_node(cluster: Cluster) -> None:
    zone = {f"hollow-{index:05d}" for index in range(0, NODES, 3)}
    cluster.nodes.kill(Selection(zone="zone-a"))

    seen = []
    cluster.sim.advance(EARLIEST + TOLERATED - 1.0)
    for _ in range(25):
        cluster.sim.advance(2.0)
        seen.append(len(cluster.leaving()))

    assert cluster.leaving() == zone
    assert {*seen} >= {1, 2, 3, 4}, "one after the other"
    assert all(seen.count(nodes) >= 4 for nodes in (1, 2, 3)), "about 10 s apart"


def test_nobody_is_evicted_when_every_node_is_silent(cluster: Cluster) -> None:
    for zone in ("zone-a", "zone-b", "zone-c"):
        cluster.nodes.pause(Selection(zone=zone))

    cluster.sim.advance(1200.0)

    assert cluster.leaving() == set()
