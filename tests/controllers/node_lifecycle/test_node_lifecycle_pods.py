# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle: the pods of a node that fell silent, row by row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.controllers.lifecycle_cluster import LifecycleCluster
from kit.controllers.refusing import refused

from controller_runtime.testing.faults import LostReply
from controller_runtime.testing.simulation import Simulation
from controllers.node_lifecycle.node_lifecycle import WORKERS

pytestmark = pytest.mark.ends


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[LifecycleCluster]:
    made = LifecycleCluster(sim)
    yield made
    made.end()


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


def test_nodes_that_fell_silent_together_are_marked_before_their_pods(cluster: LifecycleCluster) -> None:
    names = [f"n-{index:02d}" for index in range(20)]
    cluster.healthy("alive", *names)
    for name in names:
        cluster.pod(f"on-{name}", name)
    cluster.start()
    cluster.silence(*names)

    cluster.run(100.0)

    of_pods = ["pods" in write for write in cluster.writes() if write.endswith("/status")]
    assert sorted(of_pods) == [False] * 20 + [True] * 20
    assert of_pods.index(True) >= 20 - WORKERS  # the last write may be under way


@pytest.mark.scenario("F-36")
def test_the_pods_of_a_node_that_says_so_itself_are_its_own_to_mark(cluster: LifecycleCluster) -> None:
    """If the node itself reports Ready=False no pods are marked, not even when it becomes Unknown after that."""
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
    """The other pods are marked at once, and this one after the monitor period."""
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
    for name in ("late", "elsewhere"):
        cluster.pod(name, "")
    cluster.start()
    cluster.silence("a")
    cluster.run(55.0)

    cluster.bind("late", "a")
    cluster.bind("elsewhere", "b")
    cluster.run(1.0)

    assert [cluster.pod_ready(name)["status"] for name in ("late", "elsewhere")] == ["False", "True"]
    assert ("Pod", "late", "Node is not ready") in cluster.events("NodeNotReady")


def test_a_pod_that_has_said_nothing_yet_is_not_marked(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", "b")
    cluster.start()
    cluster.silence("a")
    cluster.run(55.0)

    cluster.pod("late", "a", ready=None)
    cluster.run(1.0)

    # Without a Ready condition there is nothing to mark, and a later one is written by a kubelet.
    assert cluster.pod_ready("late") == {}
    assert not [write for write in cluster.writes() if "pods" in write]


def hang(cluster: LifecycleCluster, *pods: str) -> None:
    """Let the controller's writes of these pods go unanswered."""
    ends = tuple(f"/pods/{name}/status" for name in pods)
    cluster.fault = lambda request: LostReply() if request.method == "PATCH" and request.path.endswith(ends) else None


def test_a_node_that_returns_does_not_wait_until_all_writes_of_its_pods_have_timed_out(
    cluster: LifecycleCluster,
) -> None:
    """One write takes 30 s to time out; forty of them would keep the taint on the node for 20 minutes."""
    cluster.healthy("a", *(f"well-{index}" for index in range(12)))
    names = [f"p-{index}" for index in range(40)]
    for name in names:
        cluster.pod(name, "a")
    cluster.start()
    hang(cluster, *names)
    cluster.silence("a")
    cluster.run(51.0)
    assert cluster.evicted() == ["a"]

    cluster.live("a")
    cluster.run(40.0)

    assert cluster.taints("a") == []


def test_nodes_with_pods_whose_writes_hang_do_not_hold_up_the_verdict_on_others(cluster: LifecycleCluster) -> None:
    """There are as many such nodes as workers."""
    hanging, alive = [f"n-{index}" for index in range(WORKERS)], [f"well-{index}" for index in range(12)]
    cluster.healthy(*hanging, "late", *alive)
    names = [f"on-{node}-{index}" for node in hanging for index in range(20)]
    for name in names:
        cluster.pod(name, name[3:6])
    cluster.start()
    hang(cluster, *names)
    cluster.silence(*hanging)
    cluster.run(30.0)
    cluster.silence("late")

    cluster.run(50.0 + 40.0)

    assert cluster.statuses(*hanging, "late") == ["Unknown"] * (WORKERS + 1)


def test_a_pod_whose_write_hangs_does_not_keep_the_others_from_being_marked(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", "b")
    for index in range(6):
        cluster.pod(f"p-{index}", "a")
    cluster.start()
    hang(cluster, "p-0", "p-3")
    cluster.silence("a")

    cluster.run(51.0 + 100.0)
    others = [cluster.pod_ready(f"p-{index}")["status"] for index in (1, 2, 4, 5)]
    cluster.fault = lambda request: None
    cluster.run(40.0)

    assert others == ["False"] * 4
    assert [cluster.pod_ready(f"p-{index}")["status"] for index in (0, 3)] == ["False"] * 2
