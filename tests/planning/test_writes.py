# SPDX-License-Identifier: Apache-2.0
"""Each write of a plan is answered as it would be, later reads see it, and the server is left as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apimachinery.errors import AlreadyExists, Conflict, Invalid, NotFound, UsageError
from apimachinery.http import HTTPRequest
from controller_runtime import Client, ObjectKey
from controller_runtime.client.patches import PatchType
from controller_runtime.core.resource_paths import ResourcePath
from controller_runtime.isolation.guard import OutsideRefused
from controller_runtime.planning.dry_runs import DryRunOnly
from controller_runtime.planning.overlay import BlindSpot, PlannedObject
from controller_runtime.planning.transport import PlanTransport
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, NODES, PODS, Resource
from controller_runtime.testing import InProcessTransport, RecordingTransport, Simulation, a_node, a_pod
from embedded_apiserver import APIServer

A = ObjectKey("a", "default")


class Bench:
    def __init__(self, sim: Simulation) -> None:
        host = sim.host("here")
        self.server = APIServer(host)
        real = InProcessTransport(host, self.server)
        self.recorded = RecordingTransport(real)
        self.transport = PlanTransport(host, self.recorded)
        self.user, self.client = Client(host, real), Client(host, self.transport)
        self.called = 0

    def config_map(self, name: str = "a", **data: str) -> None:
        self.user.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}, "data": data})

    def planned(self, plural: str = "configmaps", name: str = "a", namespace: str = "default") -> PlannedObject:
        found = self.transport.overlay.get(ResourcePath("", "v1", plural, namespace, name))
        assert found is not None
        return found

    def data(self, name: str = "a") -> Any:
        return self.client.get(CONFIG_MAPS, ObjectKey(name, "default"), dict).get("data")


@pytest.fixture
def bench(sim: Simulation) -> Bench:
    return Bench(sim)


def new(name: str = "a", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


def test_no_verb_changes_anything_at_the_server(bench: Bench) -> None:
    bench.config_map(x="1")
    bench.user.create(NODES, a_node("n"))
    bench.user.create(PODS, a_pod("p", node="n"))
    before, client = bench.server.storage.version, bench.client

    client.create(CONFIG_MAPS, new("b"))
    client.patch(CONFIG_MAPS, A, {"data": {"y": "2"}})
    client.patch(CONFIG_MAPS, A, {"data": {"z": "3"}})
    client.apply(CONFIG_MAPS, new(w="4"), field_manager="me")
    client.update(CONFIG_MAPS, {**client.get(CONFIG_MAPS, A, dict), "data": {}})
    client.patch(NODES, ObjectKey("n"), {"status": {"phase": "Gone"}}, subresource="status")
    client.create_subresource(PODS, ObjectKey("p", "default"), "eviction", {})
    client.delete(CONFIG_MAPS, A)
    client.delete_collection(CONFIG_MAPS, "default")

    assert bench.server.storage.version == before
    writes = bench.recorded.writes()
    assert len(writes) == 9
    assert all(("dryRun", "All") in request.query for request in writes)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_that_is_no_dry_run_is_refused_before_it_is_sent(bench: Bench, method: str) -> None:
    """Also one whose query asks for a dry run while the body, which counts, does not."""
    gate = DryRunOnly(bench.recorded)
    body = b'{"kind":"DeleteOptions"}' if method == "DELETE" else b"{}"

    with pytest.raises(UsageError, match="would be carried out"):
        gate.request(HTTPRequest(method, "/api/v1/nodes/a", (), {}, body), 1.0)
    if method == "DELETE":
        with pytest.raises(UsageError, match="would be carried out"):
            gate.request(HTTPRequest(method, "/api/v1/nodes/a", (("dryRun", "All"),), {}, body), 1.0)

    assert bench.recorded.requests == []


def test_a_created_object_is_read_listed_changed_and_deleted_though_the_server_never_saw_it(bench: Bench) -> None:
    bench.client.create(CONFIG_MAPS, new(x="1"))

    assert bench.data() == {"x": "1"}
    bench.client.patch(CONFIG_MAPS, A, {"data": {"y": "2"}})
    bench.client.patch(CONFIG_MAPS, A, [{"op": "remove", "path": "/data/x"}], type=PatchType.JSON)
    assert [item["data"] for item in bench.client.list(CONFIG_MAPS, "default", view=dict)] == [{"y": "2"}]
    with pytest.raises(AlreadyExists):
        bench.client.create(CONFIG_MAPS, new())
    planned = bench.planned()
    assert planned.is_only_planned
    assert planned.blind[0][0] is BlindSpot.UNCHECKED

    bench.client.delete(CONFIG_MAPS, A)
    with pytest.raises(NotFound):
        bench.client.get(CONFIG_MAPS, A)
    with pytest.raises(NotFound):
        bench.client.patch(CONFIG_MAPS, A, {"data": {}})
    assert (bench.planned().live, bench.planned().state) == (None, None)


def test_a_status_of_an_object_that_was_only_planned_is_kept_beside_its_spec(bench: Bench) -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
        "containers": [{"name": "c", "image": "i"}]}}}  # fmt: skip
    made = {"metadata": {"name": "a", "namespace": "default"}, "spec": spec}
    bench.client.apply(DEPLOYMENTS, made, field_manager="me")
    bench.client.patch(DEPLOYMENTS, A, {"status": {"replicas": 1}, "spec": {"paused": True}}, subresource="status")
    bench.client.apply(DEPLOYMENTS, {**made, "spec": {**spec, "replicas": 3}}, field_manager="me")
    bench.client.patch(DEPLOYMENTS, A, {"spec": {"replicas": 5}}, subresource="scale")

    found = bench.client.get(DEPLOYMENTS, A, dict)
    assert (found["status"], found["spec"]["replicas"], "paused" in found["spec"]) == ({"replicas": 1}, 5, False)
    assert bench.client.get_subresource(DEPLOYMENTS, A, "scale")["spec"] == {"replicas": 5}


def test_writes_of_one_object_add_up_though_the_server_forgets_each(bench: Bench) -> None:
    bench.config_map(x="1")

    bench.client.patch(CONFIG_MAPS, A, {"metadata": {"finalizers": ["example.com/a"]}})
    bench.client.patch(CONFIG_MAPS, A, {"data": {"y": "2"}})
    bench.client.apply(
        CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default", "labels": {"l": "1"}}}, field_manager="m"
    )
    bench.client.patch(CONFIG_MAPS, A, [{"op": "test", "path": "/data/y", "value": "2"}], type=PatchType.JSON)

    found = bench.client.get(CONFIG_MAPS, A, dict)
    assert found["data"] == {"x": "1", "y": "2"}
    assert found["metadata"]["finalizers"] == ["example.com/a"]
    assert found["metadata"]["labels"] == {"l": "1"}
    assert bench.planned().live is not None
    assert bench.planned().live["data"] == {"x": "1"}  # type: ignore[index]


def test_a_status_does_not_undo_the_change_of_the_object_nor_the_other_way(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n"))
    key = ObjectKey("n")

    bench.client.patch(NODES, key, {"metadata": {"labels": {"l": "1"}}})
    bench.client.patch(NODES, key, {"status": {"phase": "Running"}}, subresource="status")
    bench.client.patch(NODES, key, {"spec": {"unschedulable": True}})

    found = bench.client.get(NODES, key, dict)
    assert (found["metadata"]["labels"]["l"], found["status"]["phase"], found["spec"]["unschedulable"]) == (
        "1", "Running", True,
    )  # fmt: skip


def test_a_write_that_builds_on_a_planned_one_is_still_checked_by_the_server(bench: Bench) -> None:
    bench.config_map(x="1")
    bench.client.patch(CONFIG_MAPS, A, {"data": {"y": "2"}})

    with pytest.raises(Invalid):
        bench.client.patch(CONFIG_MAPS, A, {"metadata": {"labels": {"no label!": "x"}}})
    assert bench.data() == {"x": "1", "y": "2"}


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda c: c.patch(CONFIG_MAPS, A, {"metadata": {"resourceVersion": "9999"}}), id="patch"),
        pytest.param(lambda c: c.delete(CONFIG_MAPS, A, uid="another"), id="delete"),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_preconditions_hold_for_planned_states(bench: Bench, exists: bool, write: Callable[[Client], None]) -> None:
    if exists:
        bench.config_map()
        bench.client.patch(CONFIG_MAPS, A, {"data": {"x": "1"}})
    else:
        bench.client.create(CONFIG_MAPS, new())

    with pytest.raises(Conflict):
        write(bench.client)


def test_a_deletion_that_a_finalizer_delays_marks_the_object_and_its_removal_ends_it(bench: Bench) -> None:
    bench.config_map()
    bench.client.patch(CONFIG_MAPS, A, {"metadata": {"finalizers": ["example.com/a"]}})

    bench.client.delete(CONFIG_MAPS, A)
    assert "deletionTimestamp" in bench.client.get(CONFIG_MAPS, A, dict)["metadata"]

    bench.client.patch(CONFIG_MAPS, A, {"metadata": {"finalizers": None}})
    with pytest.raises(NotFound):
        bench.client.get(CONFIG_MAPS, A)
    assert BlindSpot.COLLECTION in [spot for spot, _ in bench.planned().blind]


def test_an_object_can_be_replaced_by_another_of_its_name(bench: Bench) -> None:
    bench.config_map(x="1")
    uid = bench.client.get(CONFIG_MAPS, A, dict)["metadata"]["uid"]

    bench.client.delete(CONFIG_MAPS, A)
    bench.client.create(CONFIG_MAPS, new(z="9"))

    assert bench.data() == {"z": "9"}
    assert bench.client.get(CONFIG_MAPS, A, dict)["metadata"]["uid"] != uid


def test_a_generated_name_is_remembered_as_one(bench: Bench) -> None:
    made = bench.client.create(CONFIG_MAPS, {"metadata": {"generateName": "run-", "namespace": "default"}})

    assert bench.client.get(CONFIG_MAPS, made.key, dict)["metadata"]["name"] == made.name
    assert bench.planned(name=made.name).generate_name == "run-"
    assert made.resource_version


def test_what_is_in_a_namespace_that_was_only_planned_is_planned_too(bench: Bench) -> None:

    bench.client.create(NAMESPACES, {"metadata": {"name": "new"}})
    bench.client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "new"}})
    bench.client.apply(CONFIG_MAPS, {"metadata": {"name": "b", "namespace": "new"}}, field_manager="me")

    assert [item["metadata"]["name"] for item in bench.client.list(CONFIG_MAPS, "new", view=dict)] == ["a", "b"]
    with pytest.raises(NotFound):
        bench.client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "nowhere"}})


def test_lists_have_planned_states_as_their_selectors_choose_them(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        bench.config_map(name)
    label = {"metadata": {"labels": {"x": "1"}}}
    bench.client.patch(CONFIG_MAPS, ObjectKey("b", "default"), label)
    bench.client.delete(CONFIG_MAPS, A)
    bench.client.create(CONFIG_MAPS, {"metadata": {"name": "d", "namespace": "default", "labels": {"x": "1"}}})

    def names(**selectors: str) -> list[str]:
        found = bench.client.list(CONFIG_MAPS, "default", view=dict, **selectors)
        return [item["metadata"]["name"] for item in found]

    assert names() == ["b", "c", "d"]
    assert names(label_selector="x=1") == ["b", "d"]
    assert names(field_selector="metadata.name=d") == ["d"]
    partial = bench.client.list(CONFIG_MAPS.only_metadata(), "default", label_selector="x=1")
    assert [item.metadata.name for item in partial] == ["b", "d"]


def test_a_collection_is_deleted_with_what_was_planned_in_it(bench: Bench) -> None:
    bench.config_map("a")
    bench.client.create(CONFIG_MAPS, new("b"))

    bench.client.delete_collection(CONFIG_MAPS, "default")

    assert bench.client.list(CONFIG_MAPS, "default") == []


def test_a_pod_is_bound_and_evicted(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n"))
    bench.user.create(PODS, a_pod("p"))
    pod = ObjectKey("p", "default")

    bench.client.create_subresource(PODS, pod, "binding", {"target": {"kind": "Node", "name": "n"}})
    assert bench.client.get(PODS, pod, dict)["spec"]["nodeName"] == "n"
    bench.client.create_subresource(PODS, pod, "eviction", {})

    found = bench.planned("pods", "p").state
    assert found is None or "deletionTimestamp" in found["metadata"]


def test_a_review_is_answered_and_is_no_change(bench: Bench) -> None:

    reviews: Resource[Any] = Resource(
        "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False
    )
    answer = bench.client.transport.request(
        HTTPRequest("POST", reviews.path(), (), {"content-type": "application/json"},
                    b'{"spec":{"nonResourceAttributes":{"path":"/x","verb":"get"}}}'),
        bench.client.host.monotonic() + 10.0,
    )  # fmt: skip

    assert answer.status == 201
    assert bench.transport.overlay.all() == []


@pytest.mark.parametrize("part", ["exec", "attach", "portforward", "proxy"])
def test_what_leads_into_a_pod_is_refused(bench: Bench, part: str) -> None:
    request = HTTPRequest("GET", f"/api/v1/namespaces/default/pods/p/{part}")

    with pytest.raises(OutsideRefused, match=f"pods/p/{part}"):
        bench.transport.request(request, 10.0)
    with pytest.raises(OutsideRefused):
        bench.transport.stream(request, 10.0)
    assert bench.recorded.requests == []
