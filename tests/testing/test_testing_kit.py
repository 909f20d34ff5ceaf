# SPDX-License-Identifier: Apache-2.0
"""The other tools for tests: objects, waiting, and a cluster with faults, recorded requests and a user."""

from __future__ import annotations

from typing import Any

import pytest

import controller_runtime.testing as kit
from apimachinery.errors import ConnectionLost, TooManyRequests
from apimachinery.http import HTTPResponse
from apimachinery.objects import ObjectKey, annotations_of, labels_of, microtime
from apimachinery.stop import spawn
from apimachinery.system import SystemHost
from controller_runtime.api.references import set_owner
from controller_runtime.api.resources import LEASES, NODES, PODS, Resource
from controller_runtime.testing import (
    Answered,
    EmbeddedCluster,
    Refused,
    Simulation,
    a_lease,
    a_node,
    a_pod,
    eventually,
    scripted,
)


@pytest.mark.parametrize("name", sorted(kit.__all__))
def test_each_name_of_the_kit_can_be_imported(name: str) -> None:
    assert getattr(kit, name) is not None
    assert name in dir(kit)


def test_what_is_not_in_the_kit_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'FakeClient'"):
        kit.FakeClient  # noqa: B018  the access is the test


@pytest.mark.parametrize(
    ("resource", "made", "path", "value"),
    [
        pytest.param(NODES, a_node("n"), "status.conditions.0.status", "True", id="a node"),
        pytest.param(NODES, a_node("n", ready=False), "status.conditions.0.status", "False", id="not ready"),
        pytest.param(NODES, a_node("n", ready=None), "status.conditions.0.status", "Unknown", id="unknown"),
        pytest.param(PODS, a_pod("p", node="n"), "spec.nodeName", "n", id="a pod on a node"),
        pytest.param(PODS, a_pod("p"), "status.phase", "Pending", id="a pod"),
        pytest.param(LEASES, a_lease("l"), "spec.leaseDurationSeconds", 15, id="a lease"),
        pytest.param(LEASES, a_lease("l", holder="me"), "spec.holderIdentity", "me", id="a lease that is held"),
    ],
)
def test_the_server_accepts_the_objects(
    cluster: EmbeddedCluster, resource: Resource[Any], made: dict[str, Any], path: str, value: object
) -> None:
    created = cluster.user.create(resource, made)

    found: Any = cluster.user.get(resource, created.key, dict)
    for key in path.split("."):
        found = found[int(key)] if key.isdecimal() else found[key]
    assert found == value


def test_objects_carry_what_was_asked_for_and_share_nothing(cluster: EmbeddedCluster) -> None:
    labels, renewed = {"a": "b"}, microtime(cluster.host.now())

    node = a_node("n", labels=labels, annotations={"c": "d"})
    pod = a_pod("p", "elsewhere", labels=labels)
    lease = a_lease("l", renew_time=renewed)

    assert (labels_of(node), annotations_of(node)) == ({"a": "b"}, {"c": "d"})
    assert pod["metadata"] == {"name": "p", "namespace": "elsewhere", "labels": {"a": "b"}}
    assert pod["metadata"]["labels"] is not labels
    assert cluster.user.get(LEASES, cluster.user.create(LEASES, lease).key, dict)["spec"]["renewTime"] == renewed


def test_eventually_waits_for_the_change_that_makes_it_true() -> None:
    with EmbeddedCluster(SystemHost()) as cluster:
        nodes = cluster.manager.lister(NODES, dict)
        cluster.start()

        def join() -> None:
            for name in ("a", "b", "c"):
                cluster.user.create(NODES, a_node(name))

        joining = spawn(cluster.host, cluster.manager.stopping, "joining", join)
        found = eventually(cluster.manager, NODES, lambda: nodes.get(ObjectKey("c")))
        joining.join_until(None)

        assert found["metadata"]["name"] == "c"
        assert cluster.manager.informer(NODES).handlers == 0, "it leaves nothing behind"


def test_eventually_gives_up_and_says_what_it_saw(simulation: Simulation) -> None:
    with EmbeddedCluster(simulation.host("here"), faults=lambda number, request: Refused()) as cluster:
        cluster.start()

        with pytest.raises(AssertionError, match=r"after 5 s and 0 changes of nodes: still 0; nodes: .* refused"):
            eventually(cluster.manager, NODES, lambda: 0, timeout=5.0)

        assert simulation.time == 5.0


def test_faults_happen_to_the_manager_and_not_to_the_user(simulation: Simulation) -> None:
    busy = Answered(HTTPResponse(429, {"retry-after": "1"}, b""))
    with EmbeddedCluster(simulation.host("here"), faults=scripted({0: Refused(), 1: busy})) as cluster:
        cluster.user.create(NODES, a_node("a"))

        with pytest.raises(ConnectionLost):
            cluster.client.get(NODES, ObjectKey("a"), dict)
        with pytest.raises(TooManyRequests):
            cluster.client.get(NODES, ObjectKey("a"), dict)

        assert cluster.client.get(NODES, ObjectKey("a"), dict)["metadata"]["name"] == "a"
        assert [request.path for request in cluster.transport.requests] == ["/api/v1/nodes/a"] * 3
        assert cluster.transport.writes() == []


def lose_the_owner(cluster: EmbeddedCluster) -> None:
    owned = a_pod("owned")
    set_owner(owned, cluster.user.create(PODS, a_pod("owner")))
    cluster.user.create(PODS, owned)
    cluster.user.delete(PODS, ObjectKey("owner", "default"))


def names_of_pods(cluster: EmbeddedCluster) -> list[str]:
    return [pod["metadata"]["name"] for pod in cluster.user.list(PODS, view=dict)]


def test_garbage_stays_unless_its_collection_is_asked_for(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.start()

    lose_the_owner(cluster)
    simulation.advance(3600.0)

    assert names_of_pods(cluster) == ["owned"]


@pytest.mark.embedded_cluster(garbage_collection=True)
@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#626")
def test_garbage_is_collected_in_virtual_time(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.start()

    lose_the_owner(cluster)
    simulation.advance(1.0)

    assert names_of_pods(cluster) == []
    assert cluster.transport.requests == [], "the manager's record has the manager's requests alone"


@pytest.mark.embedded_cluster(garbage_collection=True)
def test_garbage_is_collected_in_real_time(real_cluster: EmbeddedCluster) -> None:
    pods = real_cluster.manager.lister(PODS, dict)
    real_cluster.start()

    lose_the_owner(real_cluster)

    assert eventually(real_cluster.manager, PODS, lambda: pods.list() == [])


def test_garbage_of_before_the_start_is_collected_too(simulation: Simulation) -> None:
    with EmbeddedCluster(simulation.host("here"), garbage_collection=True) as cluster:
        lose_the_owner(cluster)
        simulation.advance(60.0)
        assert names_of_pods(cluster) == ["owned"], "nothing runs before the start"

        cluster.start()
        simulation.advance(1.0)

        assert names_of_pods(cluster) == []


@pytest.mark.embedded_cluster(garbage_collection=True)
class TestMarkers:
    """The marker of a test overrides that of its class."""

    @pytest.mark.embedded_cluster(garbage_collection=False)
    def test_the_nearest_marker_decides(self, simulation: Simulation, cluster: EmbeddedCluster) -> None:
        cluster.start()

        lose_the_owner(cluster)
        simulation.advance(60.0)

        assert names_of_pods(cluster) == ["owned"]
