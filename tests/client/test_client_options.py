# SPDX-License-Identifier: Apache-2.0
"""Subresources, whole collections and the options of every write work on the wire and on the embedded server."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from kit.client.recorder import Recorder

from apimachinery.errors import BadRequest, Conflict, DecodeError, Invalid, NotFound
from apimachinery.http import HTTPResponse
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES, PODS, Resource
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.write_options import FieldValidation
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

DEPLOYMENTS: Resource[dict[str, Any]] = Resource("apps", "v1", "Deployment", "deployments")
NODE = HTTPResponse(200, {}, b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","resourceVersion":"7"}}')
SCALE = HTTPResponse(
    200, {}, b'{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"d"},"spec":{"replicas":3}}'
)
POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


class ScaleSpec(msgspec.Struct):
    replicas: int = 0


class ScaleView(msgspec.Struct):
    spec: ScaleSpec


class Misread(msgspec.Struct):
    replicaCount: int  # noqa: N815 (a name on the wire)


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.fixture
def live(host: SimulatedHost) -> Client:
    """Makes a client of an embedded server."""
    return Client(host, InProcessTransport(host, APIServer(host)))


def test_a_scale_is_read_as_what_it_is_and_not_as_its_object(host: SimulatedHost) -> None:
    recorder = Recorder(SCALE)
    client = Client(host, recorder)
    request = ObjectKey("d", "default")

    plain = client.get_subresource(DEPLOYMENTS, request, "scale")
    view = client.get_subresource(DEPLOYMENTS, request, "scale", ScaleView)

    assert recorder.asked[0].path == "/apis/apps/v1/namespaces/default/deployments/d/scale"
    assert (plain["kind"], view.spec.replicas) == ("Scale", 3)
    with pytest.raises(ValueError, match="replicaCount"):
        client.get_subresource(DEPLOYMENTS, request, "scale", Misread)


def test_a_scale_is_written_under_its_own_kind(host: SimulatedHost) -> None:
    recorder = Recorder(SCALE)

    scale = {"metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 3}}
    Client(host, recorder).update(DEPLOYMENTS, scale, subresource="scale")

    request = recorder.asked[0]
    assert (request.method, request.path) == ("PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale")
    assert recorder.body == {"apiVersion": "autoscaling/v1", "kind": "Scale", **scale}


def test_a_scale_is_read_patched_and_replaced(live: Client) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    made = live.create(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}, "default")

    patched = live.patch(DEPLOYMENTS, made.key, {"spec": {"replicas": 4}}, subresource="scale")
    scale = live.get_subresource(DEPLOYMENTS, made.key, "scale")
    live.update(DEPLOYMENTS, {**scale, "spec": {"replicas": 5}}, subresource="scale")

    assert (scale["metadata"]["resourceVersion"], scale["spec"]) == (patched.resource_version, {"replicas": 4})
    assert live.get(DEPLOYMENTS, made.key)["spec"]["replicas"] == 5
    with pytest.raises(Conflict):
        live.update(DEPLOYMENTS, scale, subresource="scale")


def test_a_status_is_replaced_and_nothing_else(live: Client) -> None:
    live.create(NODES, {"metadata": {"name": "n1"}})
    node = live.get(NODES, ObjectKey("n1"), dict)
    node["spec"] = {"podCIDR": "10.0.0.0/24"}
    node["status"] = {"phase": "Running"}

    live.update(NODES, node, subresource="status")

    found = live.get_subresource(NODES, ObjectKey("n1"), "status")
    assert found["status"]["phase"] == "Running"
    assert "podCIDR" not in found.get("spec", {})


def test_a_pod_is_bound_and_evicted_by_creating_on_its_parts(live: Client) -> None:
    pod = live.create(PODS, POD)

    target = {"target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}}
    bound = live.create_subresource(PODS, pod.key, "binding", target)
    assert live.get(PODS, pod.key, dict)["spec"]["nodeName"] == "n1"
    evicted = live.create_subresource(PODS, pod.key, "eviction", {"deleteOptions": {"gracePeriodSeconds": 0}})

    assert (bound["status"], evicted["status"]) == ("Success", "Success")
    with pytest.raises(NotFound):
        live.get(PODS, pod.key)


def test_what_is_created_on_a_part_is_addressed_to_its_object(host: SimulatedHost) -> None:
    recorder = Recorder(HTTPResponse(201, {}, b'{"kind":"TokenRequest","status":{"token":"t"}}'))
    accounts: Resource[dict[str, Any]] = Resource("", "v1", "ServiceAccount", "serviceaccounts")

    answer = Client(host, recorder).create_subresource(accounts, ObjectKey("a", "ns"), "token", {"spec": {}})

    assert answer["status"]["token"] == "t"
    assert recorder.body == {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {},
    }


def test_an_answer_that_is_no_object_is_named_so(host: SimulatedHost) -> None:
    client = Client(host, Recorder(HTTPResponse(201, {}, b"[]")))

    with pytest.raises(DecodeError, match="not a JSON object"):
        client.create_subresource(PODS, ObjectKey("p", "ns"), "eviction")


def test_a_collection_is_deleted_by_selector(live: Client) -> None:
    for number in range(4):
        live.create(NODES, {"metadata": {"name": f"n{number}", "labels": {"even": str(number % 2 == 0)}}})

    live.delete_collection(NODES, label_selector="even=True")
    left = [node["metadata"]["name"] for node in live.list(NODES, view=dict)]
    live.delete_collection(NODES, field_selector="metadata.name=n1", propagation_policy="Background")

    assert left == ["n1", "n3"]
    assert [node["metadata"]["name"] for node in live.list(NODES, view=dict)] == ["n3"]


def test_a_namespaced_collection_is_deleted_in_one_namespace(live: Client) -> None:
    live.create(PODS, POD)
    with pytest.raises(ValueError, match="name a namespace"):
        live.delete_collection(PODS)

    live.delete_collection(PODS, "default", grace_period_seconds=0)

    assert live.list(PODS) == []


def test_what_a_client_says_with_its_writes_is_said_with_each_of_them(host: SimulatedHost) -> None:
    recorder = Recorder(NODE)
    client = Client(host, recorder).writing(field_manager="me", field_validation=FieldValidation.STRICT, dry_run=True)

    client.create(NODES, {"metadata": {"name": "n1"}})
    client.update(NODES, {"metadata": {"name": "n1"}})
    client.within(1.0).patch(NODES, ObjectKey("n1"), {})
    client.apply(NODES, {"metadata": {"name": "n1"}}, force=True)
    client.create_subresource(PODS, ObjectKey("p", "ns"), "eviction")
    client.get(NODES, ObjectKey("n1"))

    said = {("fieldManager", "me"), ("fieldValidation", "Strict"), ("dryRun", "All")}
    forced = {*said, ("force", "true")}
    assert [set(request.query) for request in recorder.asked] == [said, said, said, forced, said, set()]


def test_deletions_say_that_they_are_tried_in_their_body(host: SimulatedHost) -> None:
    recorder = Recorder(NODE)
    trying = Client(host, recorder).writing(dry_run=True)

    trying.delete(NODES, ObjectKey("n1"), uid="u")
    trying.delete_collection(NODES, label_selector="a")

    assert recorder.asked[0].query == ()
    assert b'"preconditions":{"uid":"u"},"dryRun":["All"]' in recorder.asked[0].body
    assert recorder.asked[1].query == (("labelSelector", "a"),)
    assert b'"dryRun":["All"]' in recorder.asked[1].body


def test_nothing_changes_that_is_only_tried(live: Client) -> None:
    live.create(NODES, {"metadata": {"name": "n1"}})
    trying = live.writing(dry_run=True)

    made = trying.create(NODES, {"metadata": {"name": "n2"}})
    patched = trying.patch(NODES, ObjectKey("n1"), {"metadata": {"labels": {"a": "b"}}})
    trying.delete(NODES, ObjectKey("n1"))
    trying.delete_collection(NODES)

    assert (made.name, b'"a":"b"' in patched.raw) == ("n2", True)
    left = live.list(NODES, view=dict)
    assert [(node["metadata"]["name"], "labels" in node["metadata"]) for node in left] == [("n1", False)]


def test_unknown_fields_are_refused_where_that_is_asked_for(live: Client) -> None:
    strict = live.writing(field_validation=FieldValidation.STRICT)
    node = {"metadata": {"name": "n1"}, "spec": {"unschedulabel": True}}

    with pytest.raises(BadRequest, match=r'unknown field "spec\.unschedulabel"'):
        strict.create(NODES, node)

    assert live.writing(field_validation=FieldValidation.IGNORE).create(NODES, node).name == "n1"


def test_fields_belong_to_who_is_said_to_write_them(live: Client) -> None:
    mine = live.writing(field_manager="mine")

    mine.create(NODES, {"metadata": {"name": "n1", "annotations": {"a": "b"}}})
    mine.apply(NODES, {"metadata": {"name": "n1", "labels": {"a": "b"}}})
    mine.apply(NODES, {"metadata": {"name": "n1", "labels": {"c": "d"}}}, field_manager="other")

    managed = live.get(NODES, ObjectKey("n1"), dict)["metadata"]["managedFields"]
    assert {(entry["manager"], entry["operation"]) for entry in managed} == {
        ("mine", "Update"),
        ("mine", "Apply"),
        ("other", "Apply"),
    }


def test_applying_needs_a_manager(live: Client) -> None:
    with pytest.raises(Invalid, match="fieldManager"):
        live.apply(NODES, {"metadata": {"name": "n1"}})
