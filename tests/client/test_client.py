# SPDX-License-Identifier: Apache-2.0
"""The client's verbs send the right requests and return the right results, on the embedded server where it matters."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from kit.client.recorder import Recorder
from kubernetes.client import V1Lease, V1LeaseSpec, V1Node, V1ObjectMeta

from apimachinery.errors import AlreadyExists, Conflict, NotFound
from apimachinery.http import HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.api.resources import EVENTS, LEASES, NODES, PODS, Resource
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.patches import PatchType
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

NODE = b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","uid":"u","resourceVersion":"7"}}'


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.fixture
def recorder() -> Recorder:
    return Recorder(HTTPResponse(200, {}, NODE))


@pytest.fixture
def live(host: SimulatedHost) -> Client:
    """Makes a client of an embedded server."""
    return Client(host, InProcessTransport(host, APIServer(host)))


def test_every_call_has_a_deadline_and_says_who_asks(host: SimulatedHost, recorder: Recorder) -> None:
    client = Client(host, recorder, request_timeout=12.0)

    client.get(NODES, ObjectKey("n1"))
    client.patch(NODES, ObjectKey("n1"), {})
    client.delete(NODES, ObjectKey("n1"))

    assert len(recorder.deadlines) == 3
    assert all(11.5 < deadline - host.monotonic() <= 12.0 for deadline in recorder.deadlines)
    agents = {request.headers["user-agent"] for request in recorder.asked}
    assert len(agents) == 1
    assert agents.pop().startswith("controller-runtime/")


@pytest.mark.parametrize(
    ("type_", "content_type", "patch"),
    [
        pytest.param(PatchType.MERGE, "application/merge-patch+json", {"metadata": {"labels": None}}, id="merge"),
        pytest.param(PatchType.JSON, "application/json-patch+json", [{"op": "remove", "path": "/a"}], id="json"),
        pytest.param(PatchType.STRATEGIC, "application/strategic-merge-patch+json", {"spec": {}}, id="strategic"),
    ],
)
def test_a_patch_is_sent_as_its_type(
    host: SimulatedHost, recorder: Recorder, type_: PatchType, content_type: str, patch: dict[str, object]
) -> None:
    written = Client(host, recorder).patch(NODES, ObjectKey("n1"), patch, type=type_, subresource="status")

    request = recorder.asked[0]
    assert (request.method, request.path) == ("PATCH", "/api/v1/nodes/n1/status")
    assert request.headers["content-type"] == content_type
    assert recorder.body == patch
    assert (written.name, written.resource_version) == ("n1", "7")


@pytest.mark.parametrize(
    ("options", "body"),
    [
        pytest.param({}, None, id="nothing asked"),
        pytest.param({"uid": "u"}, {"preconditions": {"uid": "u"}}, id="of this uid"),
        pytest.param({"resource_version": "7"}, {"preconditions": {"resourceVersion": "7"}}, id="of this version"),
        pytest.param({"grace_period_seconds": 0}, {"gracePeriodSeconds": 0}, id="at once"),
        pytest.param({"propagation_policy": "Orphan"}, {"propagationPolicy": "Orphan"}, id="leaving its dependents"),
    ],
)
def test_a_delete_carries_the_options_that_were_asked_for(
    host: SimulatedHost, recorder: Recorder, options: dict[str, object], body: dict[str, object] | None
) -> None:
    Client(host, recorder).delete(PODS, ObjectKey("p", "ns"), **options)  # type: ignore[arg-type]

    request = recorder.asked[0]
    assert (request.method, request.path) == ("DELETE", "/api/v1/namespaces/ns/pods/p")
    sent = json.loads(request.body) if request.body else None
    assert sent == (None if body is None else {"kind": "DeleteOptions", "apiVersion": "v1", **body})


def test_kind_and_version_are_added_and_the_object_is_left_alone(host: SimulatedHost, recorder: Recorder) -> None:
    obj = {"metadata": {"name": "n1"}}

    Client(host, recorder).create(NODES, obj)

    assert recorder.body == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    assert obj == {"metadata": {"name": "n1"}}


@pytest.mark.parametrize(
    ("own", "argument", "path"),
    [
        pytest.param("ns", "", "/api/v1/namespaces/ns/pods", id="the object's"),
        pytest.param("", "ns", "/api/v1/namespaces/ns/pods", id="the argument's"),
        pytest.param("ns", "ns", "/api/v1/namespaces/ns/pods", id="both agree"),
    ],
)
def test_an_object_goes_to_its_namespace(
    host: SimulatedHost, recorder: Recorder, own: str, argument: str, path: str
) -> None:
    Client(host, recorder).create(PODS, {"metadata": {"generateName": "p-", "namespace": own}}, argument)

    assert recorder.asked[0].path == path


def test_two_namespaces_for_one_object_are_refused(host: SimulatedHost, recorder: Recorder) -> None:
    with pytest.raises(ValueError, match="'a', not 'b'"):
        Client(host, recorder).create(PODS, {"metadata": {"name": "p", "namespace": "a"}}, "b")

    assert not recorder.asked


@pytest.mark.parametrize(
    ("resource", "text"),
    [pytest.param(PODS, "a Pod needs", id="pod"), pytest.param(EVENTS, "an Event needs", id="event")],
)
def test_an_object_of_a_namespace_is_not_sent_without_one(
    host: SimulatedHost, recorder: Recorder, resource: Resource[Any], text: str
) -> None:
    with pytest.raises(ValueError, match=f"{text} a namespace: set it in its metadata, or pass it"):
        Client(host, recorder).create(resource, {"metadata": {"name": "p"}})

    assert not recorder.asked


def test_a_client_within_less_time_asks_for_no_more(host: SimulatedHost, recorder: Recorder) -> None:
    client = Client(host, recorder, request_timeout=5.0)

    for seconds in (2.0, 60.0):
        client.within(seconds).delete(NODES, ObjectKey("n1"))

    assert recorder.deadlines == [host.monotonic() + 2.0, host.monotonic() + 5.0]
    with pytest.raises(ValueError, match="must be positive"):
        client.within(0.0)


def test_a_timeout_that_is_none_is_refused(host: SimulatedHost, recorder: Recorder) -> None:
    with pytest.raises(ValueError, match="request_timeout"):
        Client(host, recorder, request_timeout=0.0)


def test_objects_are_read_in_the_form_that_is_asked_for(live: Client) -> None:
    live.create(NODES, {"metadata": {"name": "n1", "labels": {"a": "b"}}})

    model = live.get(NODES, ObjectKey("n1"))
    plain = live.get(NODES, ObjectKey("n1"), dict)

    assert isinstance(model, V1Node)
    assert plain["metadata"]["labels"] == {"a": "b"}
    assert plain["kind"] == "Node"


def test_lists_are_whole_however_many_pages_they_take(live: Client) -> None:
    for number in range(1203):
        live.create(NODES, {"metadata": {"name": f"n{number:04}", "labels": {"even": str(number % 2 == 0)}}})

    everything = live.list(NODES, view=dict)
    some = live.list(NODES, label_selector="even=True", view=dict)

    assert [node["metadata"]["name"] for node in everything] == [f"n{number:04}" for number in range(1203)]
    assert len(some) == 602
    assert everything[0]["kind"] == "Node"


def test_a_model_survives_the_way_there_and_back(live: Client) -> None:
    renewed = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
    lease = V1Lease(
        metadata=V1ObjectMeta(name="l", namespace="kube-system"),
        spec=V1LeaseSpec(holder_identity="a", renew_time=renewed),
    )

    created = live.create(LEASES, lease)
    read = live.get(LEASES, ObjectKey("l", "kube-system"))
    read.spec.holder_identity = "b"
    replaced = live.update(LEASES, read)

    assert isinstance(created, Cached)
    assert read.spec.renew_time == renewed
    assert replaced.resource_version > created.resource_version
    assert live.get(LEASES, ObjectKey("l", "kube-system")).spec.holder_identity == "b"


def test_failures_say_what_to_do_next(live: Client) -> None:
    lease = {"metadata": {"name": "l", "namespace": "kube-system"}, "spec": {"holderIdentity": "a"}}
    first = live.create(LEASES, lease)
    stale = {**lease, "metadata": {**lease["metadata"], "resourceVersion": first.resource_version}}
    live.update(LEASES, {**stale, "spec": {"holderIdentity": "b"}})

    with pytest.raises(AlreadyExists):
        live.create(LEASES, lease)
    with pytest.raises(Conflict):
        live.update(LEASES, stale)
    with pytest.raises(Conflict):
        live.delete(LEASES, first.key, uid="another")
    with pytest.raises(NotFound):
        live.get(NODES, ObjectKey("missing"))


def test_what_was_deleted_is_gone(live: Client) -> None:
    node = live.create(NODES, {"metadata": {"name": "n1"}})

    live.delete(NODES, node.key, uid=node.uid, resource_version=node.resource_version)

    assert live.list(NODES) == []
