# SPDX-License-Identifier: Apache-2.0
"""Kinds are found by their usual names, with either form of discovery; new ones are found, and missing ones named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apimachinery.errors import ConnectionLost, DecodeError, Forbidden, NotFound, ServerError
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.api.resources import EVENTS, LEASES, NODES, Resource
from controller_runtime.client.client import Client
from controller_runtime.client.discovery import MOST_GROUP_VERSIONS
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Stream
from controller_runtime.testing import RecordingTransport
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

DEPLOYMENTS: Resource[Any] = Resource("apps", "v1", "Deployment", "deployments")


class Documents:
    """Answers paths with documents, or with a status; a classic server asked for the aggregated form ignores that."""

    def __init__(self, documents: dict[str, object]) -> None:
        self.documents = documents
        self.asked: list[str] = []

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self.asked.append(request.path)
        found = self.documents.get(request.path, 404)
        if isinstance(found, int):
            return HTTPResponse(found, {}, b"<html>away</html>")
        return HTTPResponse(200, {}, json.dumps(found).encode())

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        raise ConnectionLost("no streams here")

    def close(self) -> None:
        return


class Classic(InProcessTransport):
    """A server that has no aggregated documents."""

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        return super().request(request._replace(headers={**request.headers, "accept": "application/json"}), deadline)


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.fixture(params=[InProcessTransport, Classic], ids=["aggregated", "classic"])
def transport(request: pytest.FixtureRequest, host: SimulatedHost) -> RecordingTransport:
    return RecordingTransport(request.param(host, APIServer(host)))


def crd_version(plural: str, kind: str, **more: object) -> dict[str, object]:
    entry = {"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": ["list"], **more}
    return {"version": "v1", "resources": [entry], "freshness": "Current"}


def aggregated(*groups: dict[str, object]) -> dict[str, object]:
    return {
        "/api": {"kind": "APIGroupDiscoveryList", "items": []},
        "/apis": {"kind": "APIGroupDiscoveryList", "items": [*groups]},
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("Node", NODES, id="kind"),
        pytest.param("node", NODES, id="singular"),
        pytest.param("nodes", NODES, id="plural"),
        pytest.param("no", NODES, id="short name"),
        pytest.param("leases.coordination.k8s.io", LEASES, id="plural and group"),
        pytest.param("Deployment", DEPLOYMENTS, id="another group's"),
        pytest.param("deploy", DEPLOYMENTS, id="another group's short name"),
        pytest.param("Event.events.k8s.io", EVENTS, id="one of two of the name"),
    ],
)
def test_kinds_are_found_by_any_of_their_names(
    host: SimulatedHost, transport: RecordingTransport, name: str, expected: Resource[Any]
) -> None:
    assert Client(host, transport).resource(name) == expected


def test_a_version_can_be_said_where_there_are_several(host: SimulatedHost, transport: RecordingTransport) -> None:
    client = Client(host, transport)

    assert client.resource("Event").api_version == "v1"
    assert client.resource("events", "events.k8s.io/v1") == EVENTS
    with pytest.raises(NotFound, match="no kind 'Event' in apps/v1"):
        client.resource("Event", "apps/v1")


def test_a_copy_asks_for_kinds_within_its_own_limits_and_shares_what_was_read(
    host: SimulatedHost, transport: RecordingTransport
) -> None:
    client = Client(host, transport)
    late = client.until(host.monotonic() - 1.0)

    with pytest.raises(ConnectionLost, match="its deadline has passed"):
        late.resource("Node")
    assert transport.requests == []

    assert client.resource("Node") == NODES
    assert late.resource("Pod").plural == "pods"


def test_a_discovered_kind_is_read_and_written_as_dicts(host: SimulatedHost, transport: RecordingTransport) -> None:
    client = Client(host, transport)
    maps = client.resource("ConfigMap")

    created = client.create(maps, {"metadata": {"name": "m"}, "data": {"a": "b"}}, "default")

    assert client.get(maps, created.key)["data"] == {"a": "b"}
    assert not maps.path("default", "m").endswith("/")


def test_what_is_known_is_not_asked_for_again(host: SimulatedHost, transport: RecordingTransport) -> None:
    client = Client(host, transport)
    client.resource("Node")
    asked = len(transport.requests)

    client.within(5.0).resource("Lease")
    client.resource("Deployment")

    assert len(transport.requests) == asked


def test_the_aggregated_form_takes_two_requests(host: SimulatedHost) -> None:
    transport = RecordingTransport(InProcessTransport(host, APIServer(host)))

    Client(host, transport).resource("Node")

    assert [request.path for request in transport.requests] == ["/api", "/apis"]


def test_a_kind_that_is_defined_later_is_found_later(sim: Simulation, host: SimulatedHost) -> None:
    server = Documents(aggregated())
    client = Client(host, server)
    with pytest.raises(NotFound, match="no kind 'Zebra'"):
        client.resource("Zebra")

    group = {"metadata": {"name": "example.com"}, "versions": [crd_version("zebras", "Zebra", shortNames=["zb"])]}
    server.documents = aggregated(group)
    sim.advance(2.0)

    assert client.resource("zb") == Resource("example.com", "v1", "Zebra", "zebras")


def test_asking_for_what_is_not_there_is_no_flood(sim: Simulation, host: SimulatedHost) -> None:
    other = {"metadata": {"name": "example.com"}, "versions": [crd_version("apes", "Ape")]}
    server = Documents(aggregated(other))
    client = Client(host, server)

    for _ in range(20):
        with pytest.raises(NotFound):
            client.resource("Zebra")
        sim.advance(0.1)

    assert len(server.asked) == 2


def test_a_group_whose_server_is_away_hides_no_other(host: SimulatedHost) -> None:
    stale = {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1", "freshness": "Stale"}]}
    fine = {"metadata": {"name": "example.com"}, "versions": [crd_version("apes", "Ape")]}
    client = Client(host, Documents(aggregated(stale, fine)))

    assert client.resource("Ape").group == "example.com"
    with pytest.raises(
        NotFound, match=r"'PodMetrics'; metrics\.k8s\.io/v1 could not be read: its server is unavailable"
    ):
        client.resource("PodMetrics")


def test_a_group_version_that_is_refused_hides_no_other(host: SimulatedHost) -> None:
    versions = [{"groupVersion": f"{group}/v1"} for group in ("metrics.k8s.io", "example.com")]
    groups = [{"name": version["groupVersion"][:-3], "versions": [version]} for version in versions]
    ape = {"name": "apes", "singularName": "ape", "namespaced": False, "kind": "Ape", "verbs": []}
    documents: dict[str, object] = {
        "/api": {"kind": "APIVersions", "versions": []},
        "/apis": {"kind": "APIGroupList", "groups": groups},
        "/apis/metrics.k8s.io/v1": 503,
        "/apis/example.com/v1": {"kind": "APIResourceList", "resources": [ape, {**ape, "name": "apes/status"}]},
    }
    client = Client(host, Documents(documents))

    assert client.resource("ape") == Resource("example.com", "v1", "Ape", "apes", False)
    with pytest.raises(NotFound, match=r"metrics\.k8s\.io/v1 could not be read: the server answered 503: <html>away"):
        client.resource("PodMetrics")


def test_the_preferred_version_comes_first(host: SimulatedHost) -> None:
    versions = [{"groupVersion": "example.com/v1beta1"}, {"groupVersion": "example.com/v1"}]
    ape = {"name": "apes", "singularName": "", "namespaced": True, "kind": "Ape"}
    documents: dict[str, object] = {
        "/api": {"kind": "APIVersions", "versions": []},
        "/apis": {
            "kind": "APIGroupList",
            "groups": [{"name": "example.com", "versions": versions, "preferredVersion": versions[1]}],
        },
        **{f"/apis/example.com/{version}": {"resources": [ape]} for version in ("v1", "v1beta1")},
    }

    assert Client(host, Documents(documents)).resource("Ape").version == "v1"


@pytest.mark.parametrize(
    ("documents", "error"),
    [
        pytest.param({"/api": 403, "/apis": 403}, Forbidden, id="not allowed"),
        pytest.param({"/api": 500}, ServerError, id="broken"),
        pytest.param({"/api": {"kind": "Table"}}, DecodeError, id="no discovery"),
        pytest.param({"/api": [1]}, DecodeError, id="no object"),
        pytest.param({"/api": {"kind": "APIVersions"}}, DecodeError, id="half a document"),
        pytest.param({"/api": {"kind": "APIGroupDiscoveryList", "items": [7]}}, DecodeError, id="nonsense"),
    ],
)
def test_a_server_that_tells_nothing_says_why(
    host: SimulatedHost, documents: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        Client(host, Documents(documents)).resource("Node")


def test_names_that_no_path_can_hold_are_left_out(host: SimulatedHost) -> None:
    odd = {"metadata": {"name": "example.com"}, "versions": [crd_version("../nodes", "Ape")]}

    with pytest.raises(NotFound):
        Client(host, Documents(aggregated(odd))).resource("Ape")


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_a_server_that_names_group_versions_without_end_is_asked_for_none_of_them(
    host: SimulatedHost, path: str
) -> None:
    versions = [f"v{number}" for number in range(MOST_GROUP_VERSIONS + 1)]
    group = {"name": "example.com", "versions": [{"groupVersion": f"example.com/{version}"} for version in versions]}
    documents: dict[str, object] = {
        "/api": {"kind": "APIVersions", "versions": versions if path == "/api" else []},
        "/apis": {"kind": "APIGroupList", "groups": [group] if path == "/apis" else []},
    }
    transport = RecordingTransport(Documents(documents))

    with pytest.raises(DecodeError, match=f"{path}: the answer names 5001 group versions, more than 5000"):
        Client(host, transport).resource("ape")

    assert {request.path for request in transport.requests} <= {"/api", "/apis"}
