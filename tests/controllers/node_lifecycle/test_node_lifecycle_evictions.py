# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle: which nodes of a zone are evicted, and when, row by row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.controllers.lifecycle_cluster import LifecycleCluster
from kit.controllers.refusing import refused

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.testing.simulation import Simulation
from controllers.node_lifecycle.zones import ZoneState


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[LifecycleCluster]:
    made = LifecycleCluster(sim)
    yield made
    made.end()


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{index:03d}" for index in range(count)]


@pytest.mark.scenario("F-22")
def test_nodes_of_a_zone_are_evicted_one_by_one(cluster: LifecycleCluster) -> None:
    """One of four silent nodes in one of three healthy zones is tainted at once, and then one every 10 s."""
    for zone in ("x", "y", "z"):
        cluster.healthy(*names(zone, 12), zone=zone)
    cluster.start()
    cluster.silence(*names("x", 4))

    cluster.run(50.1)
    counts = [len(cluster.evicted())]
    for _ in range(4):
        cluster.run(9.8)
        counts.append(len(cluster.evicted()))
        cluster.run(0.2)
        counts.append(len(cluster.evicted()))

    assert cluster.statuses(*names("x", 4)) == ["Unknown"] * 4
    assert counts == [1, 1, 2, 2, 3, 3, 4, 4, 4]


@pytest.mark.scenario("F-27")
@pytest.mark.scenario("NL-05")
def test_a_wholly_silent_cluster_evicts_nobody(cluster: LifecycleCluster) -> None:
    """In a cluster without a ready node silent nodes are marked, and never get a NoExecute taint."""
    cluster.healthy("a", "b", zone="x")
    cluster.healthy("c", zone="y")
    seen: list[str] = []
    cluster.start()
    cluster.run(33.0)  # their renewals are 10 s apart, so they fall silent one after the other
    cluster.silence("a")
    cluster.run(5.0)
    cluster.silence("b")
    cluster.run(4.0)
    cluster.silence("c")

    for _ in range(120):
        cluster.run(1.0)
        seen += cluster.evicted()

    assert cluster.statuses("a", "b", "c") == ["Unknown"] * 3
    assert cluster.taints("a") == ["unreachable:NoSchedule"]
    assert seen == []


@pytest.mark.scenario("F-27")
def test_the_only_node_is_not_evicted(cluster: LifecycleCluster) -> None:
    """The only node of a cluster is marked when it falls silent, and never gets a NoExecute taint."""
    cluster.healthy("a")
    seen: list[str] = []
    cluster.start()
    cluster.silence("a")

    for _ in range(100):
        cluster.run(1.0)
        seen += cluster.evicted()

    assert cluster.status("a") == "Unknown"
    assert cluster.taints("a") == ["unreachable:NoSchedule"]
    assert seen == []


@pytest.mark.scenario("F-28")
def test_one_of_two_nodes_is_evicted(cluster: LifecycleCluster) -> None:
    """With two nodes and one silent the zone is Normal."""
    cluster.healthy("a", "b")
    cluster.start()
    cluster.silence("a")

    cluster.run(51.0)

    assert cluster.evicted() == ["a"]


@pytest.mark.scenario("F-29")
@pytest.mark.scenario("NL-06")
def test_a_small_zone_in_partial_disruption_evicts_nobody(cluster: LifecycleCluster) -> None:
    """With 3 of 5 nodes silent in a zone, none of them gets a NoExecute taint."""
    cluster.healthy(*names("x", 5), zone="x")
    cluster.healthy("y", zone="y")
    cluster.start()
    cluster.silence(*names("x", 3))

    cluster.run(200.0)

    assert cluster.statuses(*names("x", 3)) == ["Unknown"] * 3
    assert [zone.state for zone in cluster.zones()] == [ZoneState.PARTIAL, ZoneState.NORMAL]
    assert cluster.evicted() == []


@pytest.mark.scenario("F-30")
def test_a_large_zone_in_partial_disruption_is_slow(cluster: LifecycleCluster) -> None:
    """With 40 of 60 nodes silent, one node is evicted every 100 s."""
    cluster.healthy(*names("x", 60), renews=None, posts=None)
    for name in names("x", 60):
        cluster.post(name)
    cluster.live(*names("x", 60)[40:], posts=40.0, renews=None)
    cluster.start()

    cluster.run(51.0)
    first = len(cluster.evicted())
    cluster.run(250.0)

    assert first == 1
    assert len(cluster.evicted()) == 3


@pytest.mark.scenario("F-32")
@pytest.mark.scenario("NL-05")
def test_when_the_last_node_falls_silent_all_evictions_are_taken_back(cluster: LifecycleCluster) -> None:
    """Taints that were set before are removed from all nodes once all zones are silent."""
    cluster.healthy("a", "b", "c")
    cluster.start()
    cluster.silence("a")
    cluster.run(52.0)
    assert cluster.evicted() == ["a"]

    cluster.silence("b", "c")
    cluster.run(51.0)

    assert cluster.evicted() == []
    assert cluster.taints("a") == ["unreachable:NoSchedule"]


@pytest.mark.scenario("F-33")
@pytest.mark.scenario("NL-05")
def test_when_one_of_a_silent_cluster_returns_everybody_has_a_new_grace(cluster: LifecycleCluster) -> None:
    """All silence is measured again from now, Unknown stays Unknown, and evictions begin one turn later."""
    cluster.healthy("a", "b", "c", "d")
    cluster.start()
    cluster.silence("a", "b", "c", "d")
    cluster.run(60.0)
    cluster.node("e")  # it never posts or renews
    cluster.run(40.0)

    cluster.live("b", "c", "d")
    cluster.run(9.5)
    assert cluster.status("a") == "Unknown"
    assert cluster.evicted() == []
    cluster.run(1.0)
    assert cluster.evicted() == ["a"]
    cluster.run(49.0)
    assert cluster.status("e") == "", "it would have been declared silent 20 s after the return"
    cluster.run(1.0)

    assert cluster.status("e") == "Unknown"


def test_a_turn_that_was_not_used_is_void_after_a_silence_of_all(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", "b", "c")
    cluster.start()
    cluster.silence("a")
    cluster.fault = lambda request: refused(500, "InternalError") if request.path.endswith("nodes/a") else None
    cluster.run(52.0)
    cluster.silence("b", "c")
    cluster.run(60.0)
    assert cluster.statuses("a", "b", "c") == ["Unknown"] * 3

    cluster.fault = lambda request: None
    cluster.live("b", "c")
    cluster.run(9.5)
    assert cluster.evicted() == []
    cluster.run(60.0)

    assert cluster.evicted() == ["a"]


@pytest.mark.scenario("F-34")
def test_an_excluded_node_does_not_count_and_is_treated_all_the_same(cluster: LifecycleCluster) -> None:
    """A labelled node does not change its zone's state, but gets conditions and taints."""
    cluster.node("a", labels={"node.kubernetes.io/exclude-disruption": ""})
    cluster.live("a")
    cluster.healthy("b")
    cluster.start()
    cluster.silence("a")

    cluster.run(51.0)

    assert cluster.status("a") == "Unknown"
    assert cluster.evicted() == ["a"]
    assert [(zone.ready, zone.not_ready) for zone in cluster.zones()] == [(1, 0)]


@pytest.mark.scenario("NL-08")
def test_where_nobody_counts_nobody_is_evicted(cluster: LifecycleCluster) -> None:
    """A node with the excluding label is not counted, and in a cluster of such nodes not tainted."""
    cluster.node("a", labels={"node.kubernetes.io/exclude-disruption": ""})
    cluster.node("b", labels={"node.kubernetes.io/exclude-disruption": ""})
    cluster.live("a", "b")
    cluster.start()
    cluster.silence("a")

    cluster.run(100.0)

    assert cluster.status("a") == "Unknown"
    assert cluster.evicted() == []


def test_a_node_whose_lease_is_alive_is_not_evicted_for_a_status_that_is_late(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", "b", "c", zone="x")
    cluster.healthy("d", zone="y")
    cluster.start()
    cluster.silence("a", "b")  # b waits for its turn
    cluster.run(52.0)
    first, second = (cluster.evicted() * 1)[0], {"a", "b"} - {*cluster.evicted()}

    cluster.live(*second, posts=None)
    cluster.run(100.0)

    assert cluster.status(*second) == "Unknown"
    assert cluster.evicted() == [first]


def test_a_zone_label_that_moves_moves_the_node(cluster: LifecycleCluster) -> None:
    cluster.healthy(*names("x", 3), zone="x")
    cluster.healthy("y-0", zone="y")
    cluster.start()

    cluster.world.patch(NODES, ObjectKey("x-000"), {"metadata": {"labels": {"topology.kubernetes.io/zone": "y"}}})
    cluster.silence("x-001", "x-002")
    cluster.run(61.0)

    assert cluster.taints("x-001")[0] == "unreachable:NoSchedule"
    assert cluster.evicted() == ["x-001", "x-002"]  # a zone that is silent while another one is not
