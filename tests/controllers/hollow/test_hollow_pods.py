# SPDX-License-Identifier: Apache-2.0
"""Pods of hollow nodes start to run and are removed while their kubelet runs, and do not change while it does not."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, ip_address
from typing import Any

import pytest
from kit.controllers.beating import ERROR
from kit.controllers.hollow_cluster import HollowCluster

from apimachinery.errors import NotFound
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import PODS
from controller_runtime.testing.objects import a_pod
from controller_runtime.testing.simulation import Simulation
from controllers.hollow.addresses import NETWORK, PodAddresses
from controllers.hollow.pod_maker import PodMaker, hollow_pod
from controllers.hollow.pods import CONDITIONS, HollowPods
from controllers.hollow.selection import Selection

NODE = "hollow-00000"
HERE = Selection(names=(NODE,))
POD = ObjectKey("p", "default")


class Cluster(HollowCluster):
    """Hollow nodes with their pods."""

    def __init__(self, sim: Simulation, count: int = 2) -> None:
        super().__init__(sim, count)
        manager = self.cluster.manager
        manager.add(HollowPods(manager, self.nodes.is_running))

    def create(self, name: str = "p", node: str = NODE) -> None:
        self.world.create(PODS, a_pod(name, node=node))
        self.sim.advance(1.0)

    def get(self, name: str = "p") -> dict[str, Any] | None:
        try:
            return self.world.get(PODS, ObjectKey(name, "default"), dict)
        except NotFound:
            return None

    def phase(self, name: str = "p") -> str:
        pod = self.get(name)
        return "gone" if pod is None else str(pod["status"]["phase"])


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[Cluster]:
    cluster = Cluster(sim)
    cluster.start(30.0)
    yield cluster
    cluster.end()


def test_a_pod_that_is_bound_runs_and_is_ready(cluster: Cluster) -> None:
    cluster.create()

    pod = cluster.get()
    assert pod is not None
    assert pod["status"]["phase"] == "Running"
    assert pod["status"]["startTime"]
    (container,) = pod["status"]["containerStatuses"]
    assert (container["name"], container["ready"]) == ("main", True)
    assert {one["type"]: one["status"] for one in pod["status"]["conditions"]} == dict.fromkeys(CONDITIONS, "True")


def test_each_pod_gets_an_address_of_its_own(cluster: Cluster) -> None:
    for name in ("a", "b", "c"):
        cluster.create(name)

    pods = [cluster.get(name) or {} for name in ("a", "b", "c")]
    given = [pod["status"]["podIP"] for pod in pods]
    assert len(set(given)) == 3
    assert all(ip_address(one) in NETWORK for one in given)
    assert [pod["status"]["podIPs"] for pod in pods] == [[{"ip": one}] for one in given]


def test_an_address_is_not_given_again_while_a_pod_has_it(sim: Simulation) -> None:
    addresses = PodAddresses(sim.host("nodes"), IPv4Network("10.128.0.0/30"))  # of two pods
    a, b, c = (ObjectKey(name, "default") for name in "abc")
    addresses.see(a, "10.128.0.2")

    assert (addresses.give(b), addresses.give(b), addresses.give(c)) == ("10.128.0.1", "10.128.0.1", "")
    addresses.see(a, "")
    assert addresses.give(c) == "10.128.0.2"


@pytest.mark.parametrize(("kind", "phase"), [("Job", "Succeeded"), ("ReplicaSet", "Running")])
def test_a_pod_ends_by_itself_if_a_job_controls_it(cluster: Cluster, kind: str, phase: str) -> None:
    owner = {"apiVersion": "batch/v1", "kind": kind, "name": "j", "uid": "u", "controller": True}
    made = a_pod("p", node=NODE)
    cluster.world.create(PODS, {**made, "metadata": {**made["metadata"], "ownerReferences": [owner]}})
    cluster.sim.advance(1.0)

    status = (cluster.get() or {})["status"]
    assert status["phase"] == phase
    ended = [one["state"].get("terminated", {}).get("exitCode") for one in status["containerStatuses"]]
    assert ended == [0 if kind == "Job" else None]


@pytest.mark.parametrize("node", ["", "somebody-elses"])
def test_pods_elsewhere_are_of_no_concern(cluster: Cluster, node: str) -> None:
    cluster.create(node=node)

    assert cluster.phase() == "Pending"


def test_a_pod_that_runs_costs_nothing(cluster: Cluster) -> None:
    cluster.create()
    version = cluster.world.get(PODS, POD, dict)["metadata"]["resourceVersion"]

    cluster.sim.advance(1000.0)

    assert cluster.world.get(PODS, POD, dict)["metadata"]["resourceVersion"] == version


def test_a_pod_that_is_deleted_goes(cluster: Cluster) -> None:
    cluster.create()

    cluster.world.delete(PODS, POD)
    cluster.sim.advance(1.0)

    assert cluster.phase() == "gone"


@pytest.mark.parametrize("end", ["kill", "pause"])
def test_a_pod_of_a_silent_node_neither_starts_nor_goes_until_it_is_back(cluster: Cluster, end: str) -> None:
    cluster.create()
    getattr(cluster.nodes, end)(HERE)
    cluster.create("late")

    cluster.world.delete(PODS, POD)
    cluster.sim.advance(3600.0)
    assert (cluster.phase(), cluster.phase("late")) == ("Running", "Pending")

    cluster.nodes.revive(HERE)
    cluster.sim.advance(15.0)
    assert (cluster.phase(), cluster.phase("late")) == ("gone", "Running")


def test_a_pod_that_others_said_was_not_ready_is_ready_once_its_node_is_back(cluster: Cluster) -> None:
    cluster.create()
    cluster.nodes.kill(HERE)
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    cluster.world.patch(PODS, POD, status, subresource="status")

    cluster.nodes.revive(HERE)
    cluster.sim.advance(15.0)

    pod = cluster.get()
    assert pod is not None
    assert {one["type"]: one["status"] for one in pod["status"]["conditions"]} == dict.fromkeys(CONDITIONS, "True")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_stays_ended(cluster: Cluster, phase: str) -> None:
    cluster.create()

    cluster.world.patch(PODS, POD, {"status": {"phase": phase, "conditions": []}}, subresource="status")
    cluster.sim.advance(1.0)

    assert cluster.phase() == phase


def test_pods_are_spread_over_the_nodes_in_turn() -> None:
    made = [hollow_pod(index, 3) for index in range(7)]

    nodes = [pod["spec"]["nodeName"] for pod in made]
    assert nodes == [f"hollow-{index:05d}" for index in (0, 1, 2, 0, 1, 2, 0)]
    assert len({pod["metadata"]["name"] for pod in made}) == 7
    assert "tolerations" not in made[0]["spec"], "the API server gives them"


def test_how_long_pods_stay_can_be_said(cluster: Cluster) -> None:
    cluster.world.create(PODS, hollow_pod(0, 1, toleration_seconds=20))

    (pod,) = cluster.world.list(PODS, view=dict)
    assert [one["tolerationSeconds"] for one in pod["spec"]["tolerations"]] == [20, 20]


def test_the_maker_goes_on_after_failures_and_leaves_what_is_there(sim: Simulation) -> None:
    cluster = Cluster(sim)
    cluster.world.create(PODS, hollow_pod(1, 2))
    client, failures = cluster.cluster.client, [ERROR, ERROR]
    cluster.fault_of_pods = lambda: failures.pop() if failures else None
    cluster.cluster.manager.add(PodMaker(cluster.host, client, 5, 2))

    cluster.start(30.0)

    assert not failures
    pods: list[dict[str, Any]] = cluster.world.list(PODS, view=dict)
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 5
    cluster.end()
