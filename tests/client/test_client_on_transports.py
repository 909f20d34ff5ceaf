# SPDX-License-Identifier: Apache-2.0
"""The client's verbs mean the same over every transport: TLS, in process, a wrapper, and the simulated network."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apimachinery.errors import BadRequest, ConnectionLost, NotFound
from apimachinery.log import fields_of, text_of
from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.client.client import Client
from controller_runtime.client.counting import CountingTransport
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.faults import FaultyTransport, no_faults
from controller_runtime.testing.simulation import Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import ScriptedFaults
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell.kubeconfig import kubeconfig, write_kubeconfig
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.shell.tls import make_certificates

POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@contextlib.contextmanager
def over_tls(folder: Path) -> Iterator[Client]:
    host = SystemHost()
    certificates = make_certificates(host.now())
    with LoopbackServer(host, APIServer(host), certificates=certificates) as server:
        write_kubeconfig(folder / "kubeconfig", kubeconfig(server.url, certificates.authority, "s3cret"))
        with contextlib.closing(HTTPTransport(host, from_kubeconfig(folder / "kubeconfig"))) as transport:
            yield Client(host, transport)


def over_the_network(sim: Simulation) -> Client:
    network = Network(sim, ScriptedFaults(()), [], latency=0.01, until=1000.0)
    server, host = sim.host("server"), sim.host("r0")
    network.serve(server, APIServer(server))
    return Client(host, NetworkTransport(network, host))


@pytest.fixture(params=["http", "in process", "wrapped", "network"])
def client(request: pytest.FixtureRequest, tmp_path: Path, sim: Simulation) -> Iterator[Client]:
    host = sim.host("here")
    inner = InProcessTransport(host, APIServer(host))
    match request.param:
        case "http":
            with over_tls(tmp_path) as made:
                yield made
        case "in process":
            yield Client(host, inner)
        case "wrapped":
            yield Client(host, CountingTransport(host, FaultyTransport(host, inner, no_faults)))
        case _:
            yield over_the_network(sim)


def names(client: Client, **selectors: str) -> list[str]:
    return [node["metadata"]["name"] for node in client.list(NODES, view=dict, **selectors)]


def test_an_object_lives_and_dies_by_its_verbs(client: Client) -> None:
    client.create(NODES, {"metadata": {"name": "a", "labels": {"l": "1"}}})
    client.patch(NODES, ObjectKey("a"), {"status": {"phase": "Running"}}, subresource="status")
    client.apply(NODES, {"metadata": {"name": "a", "labels": {"m": "2"}}}, field_manager="me")
    node = client.get(NODES, ObjectKey("a"), dict)
    node["metadata"]["labels"]["l"] = "3"
    client.update(NODES, node)

    found: dict[str, Any] = client.get(NODES, ObjectKey("a"), dict)
    client.delete(NODES, ObjectKey("a"), uid=found["metadata"]["uid"])

    assert (found["metadata"]["labels"], found["status"]["phase"]) == ({"l": "3", "m": "2"}, "Running")
    with pytest.raises(NotFound):
        client.get(NODES, ObjectKey("a"))


def test_parts_and_collections_are_reached(client: Client) -> None:
    pod = client.create(PODS, POD, "default")
    for number in range(3):
        client.create(NODES, {"metadata": {"name": f"n{number}", "labels": {"odd": str(number % 2)}}})

    evicted = client.create_subresource(PODS, pod.key, "eviction", {"deleteOptions": {"gracePeriodSeconds": 0}})
    status = client.get_subresource(NODES, ObjectKey("n0"), "status")
    client.delete_collection(NODES, label_selector="odd=0")

    assert (evicted["status"], status["metadata"]["name"], names(client)) == ("Success", "n0", ["n1"])


def test_a_dry_run_answers_and_does_nothing(client: Client) -> None:
    trying = client.writing(dry_run=True)

    made = trying.create(NODES, {"metadata": {"name": "a"}})

    assert (made.name, names(client)) == ("a", [])


def test_any_kind_is_discovered(client: Client) -> None:
    maps = client.resource("configmaps")

    made = client.create(maps, {"metadata": {"name": "m"}, "data": {"k": "v"}}, "default")

    assert client.get(maps, made.key)["data"] == {"k": "v"}


def test_what_the_server_warns_of_arrives(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.create(NODES, {"metadata": {"name": "a"}, "spec": {"one": 1, "two": 2}})

    told = [fields_of(record)["text"] for record in caplog.records if "warns" in text_of(record)]
    assert told == ['unknown field "spec.one"', 'unknown field "spec.two"']


def test_refusals_say_why(client: Client) -> None:
    with pytest.raises(BadRequest, match="unable to parse requirement"):
        client.list(NODES, label_selector="a b c")


def test_a_limited_client_sends_no_more_than_it_may(client: Client) -> None:
    limited = client.limited(qps=0.001, burst=2)
    limited.create(NODES, {"metadata": {"name": "a"}})
    limited.create(NODES, {"metadata": {"name": "b"}})

    with pytest.raises(ConnectionLost, match="was not sent"):
        limited.create(NODES, {"metadata": {"name": "c"}})

    assert names(client) == ["a", "b"]
