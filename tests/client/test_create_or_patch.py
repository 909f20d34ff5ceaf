# SPDX-License-Identifier: Apache-2.0
"""An object is created or patched to the wanted state, on the embedded server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apimachinery.errors import AlreadyExists, Conflict
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES, NODES, PODS, Resource
from controller_runtime.client.client import Client
from controller_runtime.client.create_or_patch import Change, Mutate, create_or_patch
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing import RecordingTransport
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

NODE, LEASE = ObjectKey("n"), ObjectKey("l", "default")
READY = {"type": "Ready", "status": "True"}


@pytest.fixture
def transport(sim: Simulation) -> RecordingTransport:
    host = sim.host("r0")
    return RecordingTransport(InProcessTransport(host, APIServer(host)))


@pytest.fixture
def client(sim: Simulation, transport: RecordingTransport) -> Client:
    return Client(sim.host("r1"), transport)


def label(value: str) -> Mutate:
    def mutate(obj: dict[str, Any]) -> None:
        obj["metadata"].setdefault("labels", {})["a"] = value

    return mutate


def ready(obj: dict[str, Any]) -> None:
    obj.setdefault("status", {})["conditions"] = [READY]


def both(obj: dict[str, Any]) -> None:
    label("new")(obj)
    ready(obj)


@pytest.mark.scenario("CU-01")
@pytest.mark.parametrize(
    ("resource", "request_"),
    [pytest.param(NODES, NODE, id="cluster-scoped"), pytest.param(LEASES, LEASE, id="namespaced")],
)
def test_what_is_missing_is_created(client: Client, resource: Resource[Any], request_: ObjectKey) -> None:
    """Where there is no object, `mutate` gets a bare one with its kind and name, which is created."""
    seen: list[dict[str, Any]] = []

    def mutate(obj: dict[str, Any]) -> None:
        seen.append(json.loads(json.dumps(obj)))
        label("x")(obj)

    made = create_or_patch(client, resource, request_, mutate)

    assert made.change is Change.CREATED
    assert (made.object["metadata"]["labels"], made.object["metadata"]["name"]) == ({"a": "x"}, request_.name)
    assert seen[0]["kind"] == resource.kind
    assert client.get(resource, request_, dict) == made.object


@pytest.mark.scenario("CU-01")
def test_what_is_as_wanted_is_not_written(client: Client, transport: RecordingTransport) -> None:
    """If nothing differs, nothing is written."""
    client.create(NODES, {"metadata": {"name": "n", "labels": {"a": "x"}}})
    transport.requests.clear()

    made = create_or_patch(client, NODES, NODE, label("x"))

    assert (made.change, transport.writes()) == (Change.UNCHANGED, [])
    assert made.object == client.get(NODES, NODE, dict)


@pytest.mark.scenario("CU-01")
@pytest.mark.parametrize(
    ("mutate", "change", "writes"),
    [
        pytest.param(label("new"), Change.UPDATED, ["/api/v1/nodes/n"], id="the object"),
        pytest.param(ready, Change.UPDATED_STATUS_ONLY, ["/api/v1/nodes/n/status"], id="its status"),
        pytest.param(both, Change.UPDATED_STATUS, ["/api/v1/nodes/n", "/api/v1/nodes/n/status"], id="both"),
    ],
)
def test_what_differs_is_patched_for_that_version(
    client: Client, transport: RecordingTransport, mutate: Mutate, change: Change, writes: list[str]
) -> None:
    """A changed object, a changed status, or both are patched apart, each for the version that was read."""
    before = client.create(NODES, {"metadata": {"name": "n", "labels": {"a": "old", "b": "theirs"}}})
    transport.requests.clear()

    made = create_or_patch(client, NODES, NODE, mutate)

    assert made.change is change
    assert [request.path for request in transport.writes()] == writes
    first = json.loads(transport.writes()[0].body)
    assert first["metadata"].pop("resourceVersion") == before.resource_version
    assert first in (
        {"metadata": {"labels": {"a": "new"}}},
        {"metadata": {}, "status": {"conditions": [READY]}},
    )
    assert made.object == client.get(NODES, NODE, dict)
    assert made.object["metadata"]["labels"]["b"] == "theirs"


def test_the_status_of_what_is_created_is_written_too(client: Client, transport: RecordingTransport) -> None:
    """Creating a pod leaves its status out, so a second request brings it; a node has it at once."""

    def pod(obj: dict[str, Any]) -> None:
        obj["spec"] = {"containers": [{"name": "c", "image": "i"}]}
        ready(obj)

    made = [create_or_patch(client, PODS, LEASE, pod), create_or_patch(client, NODES, NODE, ready)]

    assert [one.change for one in made] == [Change.CREATED, Change.CREATED]
    assert [request.method for request in transport.writes()] == ["POST", "PATCH", "POST"]
    assert made[0].object == client.get(PODS, LEASE, dict)
    assert [one.object["status"]["conditions"][0]["type"] for one in made] == ["Ready", "Ready"]


@pytest.mark.scenario("CU-01")
@pytest.mark.parametrize("exists", [pytest.param(True, id="there"), pytest.param(False, id="missing")])
def test_nothing_is_written_when_the_mutation_fails(
    client: Client, transport: RecordingTransport, exists: bool
) -> None:
    """An exception from `mutate` is raised to the caller, and nothing was written."""
    if exists:
        client.create(NODES, {"metadata": {"name": "n"}})
    transport.requests.clear()

    def mutate(obj: dict[str, Any]) -> None:
        obj["metadata"]["labels"] = {"a": "b"}
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        create_or_patch(client, NODES, NODE, mutate)

    assert transport.writes() == []


@pytest.mark.scenario("CU-01")
@pytest.mark.parametrize(
    ("field", "error"),
    [
        pytest.param("name", "mutate must not rename an object: default/l became default/other", id="name"),
        pytest.param("namespace", "mutate must not rename an object: default/l became other/l", id="namespace"),
    ],
)
@pytest.mark.parametrize("exists", [pytest.param(True, id="there"), pytest.param(False, id="missing")])
def test_a_mutation_may_not_rename(client: Client, field: str, error: str, exists: bool) -> None:
    """Another name or namespace is refused, whether the object exists or not."""
    if exists:
        client.create(LEASES, {"metadata": {"name": "l"}}, "default")

    with pytest.raises(ValueError, match=error):
        create_or_patch(client, LEASES, LEASE, lambda obj: obj["metadata"].update({field: "other"}))


@pytest.mark.scenario("CU-01")
def test_a_change_by_others_meanwhile_is_a_conflict(client: Client) -> None:
    """An object that changed, or came to be, between the read and the write is not written over."""

    def meanwhile_created(obj: dict[str, Any]) -> None:
        client.create(NODES, {"metadata": {"name": "n"}})

    def meanwhile_changed(obj: dict[str, Any]) -> None:
        client.patch(NODES, NODE, {"metadata": {"labels": {"b": "theirs"}}})
        label("mine")(obj)

    with pytest.raises(AlreadyExists):
        create_or_patch(client, NODES, NODE, meanwhile_created)
    with pytest.raises(Conflict):
        create_or_patch(client, NODES, NODE, meanwhile_changed)
    assert client.get(NODES, NODE, dict)["metadata"]["labels"] == {"b": "theirs"}
