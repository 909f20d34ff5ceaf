# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle: the taints of one node, row by row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.controllers.lifecycle_cluster import LifecycleCluster

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.testing.faults import Fault
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[LifecycleCluster]:
    made = LifecycleCluster(sim)
    yield made
    made.end()


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
    """not-ready and unreachable replace each other in one write, at any pace of the zone."""
    cluster.healthy("a", "b", "c", "d")
    cluster.start()
    cluster.silence("a", "b")
    cluster.post("a", Ready="False")
    cluster.run(1.0)
    assert cluster.taints("a") == ["not-ready:NoSchedule", "not-ready:NoExecute"]

    cluster.run(51.0)  # the turn that there was is b's
    assert cluster.taints("a") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    assert cluster.evicted() == ["a", "b"]
    cluster.post("a", Ready="False")
    cluster.run(0.1)

    assert cluster.taints("a") == ["not-ready:NoSchedule", "not-ready:NoExecute"]


@pytest.mark.scenario("F-19")
def test_pressure_is_a_taint_and_others_keep_theirs(cluster: LifecycleCluster) -> None:
    """DiskPressure adds its NoSchedule taint, and a user's own survives, with all its fields."""
    cluster.healthy("a")
    own = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    cluster.world.patch(NODES, ObjectKey("a"), {"spec": {"taints": [own]}})
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

    cluster.world.patch(NODES, ObjectKey("a"), {"spec": {"unschedulable": True}})
    cluster.run(0.1)
    assert cluster.taints("a") == ["unschedulable:NoSchedule"]
    cluster.world.patch(NODES, ObjectKey("a"), {"spec": {"unschedulable": None}})
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


@pytest.mark.scenario("F-25")
def test_a_taint_that_a_user_removes_comes_back_in_its_turn(cluster: LifecycleCluster) -> None:
    """A node that is untainted while it is still Unknown waits for a turn again, and is tainted."""
    cluster.healthy("a", "b", "c")
    cluster.start()
    cluster.silence("a")
    cluster.run(52.0)
    assert cluster.evicted() == ["a"]

    cluster.world.patch(NODES, ObjectKey("a"), {"spec": {"taints": None}})
    cluster.run(5.0)
    assert cluster.taints("a") == ["unreachable:NoSchedule"]
    cluster.run(5.0)

    assert cluster.evicted() == ["a"]


@pytest.mark.scenario("F-26")
def test_an_edit_between_read_and_patch_is_kept(cluster: LifecycleCluster) -> None:
    """A patch decided on a node that was edited since is refused, and the next one keeps the edit."""
    cluster.healthy("a", "b")
    cluster.start()
    own = {"key": "dedicated", "effect": "NoExecute"}
    edits = iter([own])

    def edit(request: HTTPRequest) -> Fault | None:
        if request.path.endswith("nodes/a") and request.method == "PATCH":
            for taint in edits:
                cluster.world.patch(NODES, ObjectKey("a"), {"spec": {"taints": [taint]}})
        return None

    cluster.fault = edit
    cluster.world.patch(NODES, ObjectKey("a"), {"spec": {"unschedulable": True}})
    cluster.run(0.1)

    assert cluster.taints("a") == ["dedicated:NoExecute", "unschedulable:NoSchedule"]
    assert cluster.writes().count("PATCH nodes/a") >= 3, "the new node's taint, what is refused, and what is not"


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
