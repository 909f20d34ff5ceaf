# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle: taints of one node and of zones, and the pods of a silent node, row by row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lifecycle_cluster import PREFIX, LifecycleCluster
from test_node_lifecycle_rows import refused

from controller_runtime.api.objects import Request
from controller_runtime.api.resources import NODES
from controller_runtime.api.wire import HTTPRequest
from controller_runtime.client.faults import Fault
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[LifecycleCluster]:
    made = LifecycleCluster(sim)
    yield made
    made.end()


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{index:03d}" for index in range(count)]


@pytest.mark.scenario("F-16")
@pytest.mark.scenario("NL-04")
def test_a_node_that_returns_loses_its_taints_at_once(cluster: LifecycleCluster) -> None:
    """When a silent node posts Ready again, neither a NoExecute nor a NoSchedule taint is left."""
    cluster.healthy("a", "b")
    cluster.start()
    cluster.silence("a")
    cluster.run(70.0)
    assert cluster.taints("a") == ["unreachable:NoSchedule", "unreachable:NoExecute"]

    cluster.live("a")
    cluster.run(0.1)

    assert cluster.taints("a") == []


@pytest.mark.scenario("F-18")
@pytest.mark.scenario("F-23")
@pytest.mark.scenario("NL-04")
def test_taints_swap_with_the_verdict_without_a_turn(cluster: LifecycleCluster) -> None:
    """not-ready and unreachable take each other's place in one write, whatever the zone's pace is."""
    cluster.healthy("a", "b", "c", "d")
    cluster.start()
    cluster.silence("a", "b")
    cluster.post("a", Ready="False")
    cluster.run(1.0)
    assert cluster.taints("a") == ["not-ready:NoSchedule", "not-ready:NoExecute"]

    cluster.run(59.0)  # b waits for the token that a swap must not take
    assert cluster.taints("a") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    cluster.post("a", Ready="False")
    cluster.run(0.1)

    assert cluster.taints("a") == ["not-ready:NoSchedule", "not-ready:NoExecute"]


@pytest.mark.scenario("F-19")
def test_pressure_is_a_taint_and_others_keep_theirs(cluster: LifecycleCluster) -> None:
    """DiskPressure adds its NoSchedule taint, and a user's own survives, with all its fields."""
    cluster.healthy("a")
    own = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    cluster.world.patch(NODES, Request("a"), {"spec": {"taints": [own]}})
    cluster.start()

    cluster.post("a", Ready="True", DiskPressure="True", NetworkUnavailable="True")
    cluster.run(0.1)
    assert cluster.read("a")["spec"]["taints"][0] == own
    assert cluster.taints("a")[1:] == ["disk-pressure:NoSchedule", "network-unavailable:NoSchedule"]
    cluster.post("a", Ready="True", DiskPressure="False", NetworkUnavailable="False")
    cluster.run(0.1)

    assert cluster.read("a")["spec"]["taints"] == [own]


@pytest.mark.scenario("F-20")
def test_a_cordon_is_a_taint(cluster: LifecycleCluster) -> None:
    """The taint unschedulable:NoSchedule comes and goes with spec.unschedulable."""
    cluster.healthy("a")
    cluster.start()

    cluster.world.patch(NODES, Request("a"), {"spec": {"unschedulable": True}})
    cluster.run(0.1)
    assert cluster.taints("a") == ["unschedulable:NoSchedule"]
    cluster.world.patch(NODES, Request("a"), {"spec": {"unschedulable": None}})
    cluster.run(0.1)

    assert cluster.taints("a") == []


@pytest.mark.scenario("F-21")
def test_a_new_node_is_not_ready_until_it_was_looked_at(cluster: LifecycleCluster) -> None:
    """The server stores a new node with not-ready:NoSchedule; a node without conditions loses it."""
    cluster.node("a")
    assert cluster.taints("a") == ["not-ready:NoSchedule"]

    cluster.start()
    cluster.run(0.1)

    assert cluster.taints("a") == []


@pytest.mark.scenario("F-22")
def test_nodes_of_a_zone_are_evicted_one_by_one(cluster: LifecycleCluster) -> None:
    """Of four silent nodes in one of three healthy zones, one is tainted at once and then one every 10 s."""
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


@pytest.mark.scenario("F-25")
def test_a_taint_that_a_user_removes_comes_back_in_its_turn(cluster: LifecycleCluster) -> None:
    """A node that is untainted while it is still Unknown waits for a turn again, and is tainted."""
    cluster.healthy("a", "b", "c")
    cluster.start()
    cluster.silence("a")
    cluster.run(52.0)
    assert cluster.evicted() == ["a"]

    cluster.world.patch(NODES, Request("a"), {"spec": {"taints": None}})
    cluster.run(5.0)
    assert cluster.taints("a") == ["unreachable:NoSchedule"]
    cluster.run(5.0)

    assert cluster.evicted() == ["a"]


@pytest.mark.scenario("F-26")
def test_an_edit_between_read_and_patch_is_kept(cluster: LifecycleCluster) -> None:
    """A patch decided on a node that somebody has edited since is refused, and the next one keeps the edit."""
    cluster.healthy("a", "b")
    cluster.start()
    own = {"key": "dedicated", "effect": "NoExecute"}
    edits = iter([own])

    def edit(request: HTTPRequest) -> Fault | None:
        if request.path.endswith("nodes/a") and request.method == "PATCH":
            for taint in edits:
                cluster.world.patch(NODES, Request("a"), {"spec": {"taints": [taint]}})
        return None

    cluster.fault = edit
    cluster.world.patch(NODES, Request("a"), {"spec": {"unschedulable": True}})
    cluster.run(0.1)

    assert cluster.taints("a") == ["dedicated:NoExecute", "unschedulable:NoSchedule"]
    assert cluster.writes().count("PATCH nodes/a") == 3  # the refused one; the new node's taint was the first


@pytest.mark.scenario("F-27")
@pytest.mark.scenario("NL-05")
def test_a_wholly_silent_cluster_evicts_nobody(cluster: LifecycleCluster) -> None:
    """Silent nodes of a cluster where nobody else is ready are marked, and never get a NoExecute taint."""
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
    """With 3 of 5 nodes silent in a zone, nobody gets a NoExecute taint."""
    cluster.healthy(*names("x", 5), zone="x")
    cluster.healthy("y", zone="y")
    cluster.start()
    cluster.silence(*names("x", 3))

    cluster.run(200.0)

    assert cluster.statuses(*names("x", 3)) == ["Unknown"] * 3
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
    """The silence of all is reckoned anew, what is Unknown stays so, and evictions begin one turn later."""
    cluster.healthy("a", "b", "c", "d")
    cluster.start()
    cluster.silence("a", "b", "c", "d")
    cluster.run(60.0)
    cluster.node("e")  # it has no status: its 60 s begin now, and anew when all are pardoned

    cluster.live("b", "c", "d")
    cluster.run(9.5)
    assert cluster.status("a") == "Unknown"
    assert cluster.evicted() == []
    cluster.run(1.0)

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

    assert cluster.evicted() == ["a"]


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


@pytest.mark.scenario("F-35")
def test_the_pods_of_a_node_that_fell_silent_are_marked_once(cluster: LifecycleCluster) -> None:
    """All its pods with a Ready condition become Ready=False, and one event says that the node is not ready."""
    cluster.healthy("a", "b")
    for index in range(3):
        cluster.pod(f"p-{index}", "a")
    cluster.pod("no-condition", "a", ready=None)
    cluster.pod("elsewhere", "b")
    cluster.start()
    cluster.silence("a")

    cluster.run(100.0)

    marked = [cluster.pod_ready(f"p-{index}") for index in range(3)]
    assert [(c["status"], c["reason"]) for c in marked] == [("False", "Kubelet")] * 3
    assert cluster.pod_ready("no-condition") == {}
    assert cluster.pod_ready("elsewhere")["status"] == "True"
    assert len([w for w in cluster.writes() if "pods" in w]) == 3
    told = cluster.events("NodeNotReady")
    assert [e for e in told if e[0] == "Node"] == [("Node", "a", "Node a status is now: NodeNotReady")]
    assert sorted(e for e in told if e[0] == "Pod") == [("Pod", f"p-{i}", "Node is not ready") for i in range(3)]


@pytest.mark.scenario("F-36")
def test_the_pods_of_a_node_that_says_so_itself_are_its_own_to_mark(cluster: LifecycleCluster) -> None:
    """Ready=False from the node marks no pods, nor does Unknown after that."""
    cluster.healthy("a", "b")
    cluster.pod("p", "a")
    cluster.start()

    cluster.post("a", Ready="False")
    cluster.silence("a")
    cluster.run(100.0)

    assert cluster.status("a") == "Unknown"
    assert cluster.pod_ready("p")["status"] == "True"


@pytest.mark.scenario("F-37")
@pytest.mark.scenario("NL-07")
def test_a_pod_that_cannot_be_marked_is_tried_again(cluster: LifecycleCluster) -> None:
    """The others are marked, and it is after the monitor period."""
    cluster.healthy("a", "b")
    cluster.pod("p", "a")
    cluster.pod("q", "a")
    cluster.start()
    error = refused(500, "InternalError")
    cluster.fault = lambda request: error if request.path.endswith("pods/p/status") else None
    cluster.silence("a")

    cluster.run(51.0)
    assert [cluster.pod_ready(name)["status"] for name in "pq"] == ["True", "False"]
    assert cluster.taints("a") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    cluster.fault = lambda request: None
    cluster.run(5.0)

    assert cluster.pod_ready("p")["status"] == "False"


def test_a_pod_that_comes_to_a_silent_node_is_marked(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", "b")
    cluster.start()
    cluster.silence("a")
    cluster.run(55.0)

    cluster.pod("late", "a", ready=None)
    cluster.pod("elsewhere", "b")
    cluster.run(1.0)

    # Without a condition there is nothing to mark; what it is said to be later is not ours to change.
    assert cluster.pod_ready("late") == {}
    assert not [write for write in cluster.writes() if "pods" in write]


@pytest.mark.scenario("F-47")
def test_a_restart_leaves_taints_in_place(cluster: LifecycleCluster) -> None:
    """Taints that still match the verdict stay as they are, with the time at which they were added."""
    cluster.healthy("a", "b")
    cluster.start()
    cluster.silence("a")
    cluster.run(70.0)
    before = cluster.read("a")

    cluster.kill()
    cluster.start()
    cluster.run(70.0)

    assert cluster.read("a") == before
    assert cluster.taints("a") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    assert not [write for write in cluster.writes() if "nodes/a" in write]


def test_a_restart_grants_a_new_grace(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", "b")
    cluster.start()
    cluster.silence("a")
    cluster.run(40.0)
    cluster.kill()

    cluster.start()
    cluster.run(49.9)
    assert cluster.status("a") == "True"
    cluster.run(0.2)

    assert cluster.status("a") == "Unknown"


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

    cluster.world.patch(NODES, Request("x-000"), {"metadata": {"labels": {"topology.kubernetes.io/zone": "y"}}})
    cluster.silence("x-001", "x-002")
    cluster.run(61.0)

    assert cluster.taints("x-001")[0] == "unreachable:NoSchedule"
    assert cluster.evicted() == ["x-001", "x-002"]  # a zone that is silent while another one is not
    assert PREFIX not in str(cluster.evicted())
