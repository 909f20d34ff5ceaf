# SPDX-License-Identifier: Apache-2.0
"""Collections of which only the metadata is asked for, served, kept and read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from kit.cache.scripted import Answer, ScriptedServer, page, watched
from kubernetes.client import V1Node

from apimachinery.objects import ObjectKey, ObjectMeta, PartialObjectMetadata
from apimachinery.stop import Stop
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History

NODE_METADATA = NODES.only_metadata()


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])
def test_only_metadata_is_kept_of_what_is_there_and_of_what_changes(sim: Simulation, streaming: bool) -> None:
    host = sim.host("r0")
    server = APIServer(sim.host("server"), history=History(changes=100))
    transport = InProcessTransport(host, server)
    client, stop, told = Client(host, transport), Stop(host), list[Delta]()
    big = {"metadata": {"name": "a", "labels": {"zone": "x"}}, "spec": {"podCIDR": "10.0.0.0/24"}}
    client.create(NODES, big)
    informers = Informers(host, transport, CacheOptions(streaming=streaming))
    informer = informers.of(Collection(NODE_METADATA))
    informer.add_handler(told.append)
    informers.start(stop)
    assert informers.wait_for_sync(stop, 5.0)

    client.create(NODES, {"metadata": {"name": "b"}})
    client.patch(NODES, ObjectKey("b"), {"metadata": {"labels": {"zone": "y"}}, "spec": {"unschedulable": True}})
    client.delete(NODES, ObjectKey("a"))
    sim.advance(1.0)

    lister = Lister(informer.store, NODE_METADATA)
    assert [obj.metadata.labels for obj in lister.list()] == [{"zone": "y"}]
    assert [delta.key.name for delta in told] == ["a", "b", "b", "a"]
    assert not any(b'"spec"' in delta.object.raw or b'"status"' in delta.object.raw for delta in told)
    stop.set()
    assert informers.join_until(host.monotonic() + 1.0) == []
    server.close()


def test_it_is_asked_for_by_name_and_nothing_else_is_taken(sim: Simulation) -> None:
    """A server that does not strip is refused, because its whole objects would be taken for stripped ones."""
    host = sim.host("r0")
    accepted: list[str] = []

    class Plain(ScriptedServer):
        def request(self, request: Any, deadline: float) -> Any:
            accepted.append(request.headers["accept"])
            return super().request(request, deadline)

    server = Plain(host, page(5), watched())
    informers, stop = Informers(host, server, CacheOptions(streaming=False)), Stop(host)
    informer = informers.of(Collection(NODE_METADATA))
    informers.start(stop)
    sim.settle()

    assert accepted[0] == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    assert (
        informer.last_error == "nodes (metadata): the answer is a v1 NodeList, not a list of these objects: "
        "check the resource's group, version and plural"
    )
    stop.set()
    sim.settle()


def test_a_real_servers_list_of_metadata_is_read(sim: Simulation) -> None:
    """The items name their own kind, as they do in the recording."""
    item = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "n", "uid": "u"}}
    body = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "7"}}
    answer = Answer(200, msgspec.json.encode({**body, "items": [item]}))
    host = sim.host("r0")
    informers, stop = (
        Informers(host, ScriptedServer(host, answer, watched()), CacheOptions(streaming=False)),
        Stop(host),
    )
    informer = informers.of(Collection(NODE_METADATA))
    informers.start(stop)
    sim.settle()

    assert [obj.uid for obj in informer.store.list()] == ["u"]
    stop.set()
    sim.settle()


class Named(msgspec.Struct, gc=False):
    metadata: ObjectMeta


class WithSpec(msgspec.Struct, gc=False):
    spec: dict[str, Any] = {}


@pytest.mark.parametrize("view", [Named, dict, PartialObjectMetadata, None])
def test_views_of_metadata_can_be_read(view: type[Any] | None) -> None:
    decode = decoder_for(view, NODE_METADATA)

    assert decode(b'{"kind":"PartialObjectMetadata","metadata":{"name":"n"}}')


@pytest.mark.parametrize(
    ("view", "words"),
    [
        pytest.param(WithSpec, r"WithSpec\.spec reads 'spec', which nodes \(metadata\) does not have", id="own"),
        pytest.param(V1Node, r"V1Node reads more than nodes \(metadata\) has", id="model"),
    ],
)
def test_views_of_more_than_metadata_are_refused(view: type[Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        decoder_for(view, NODE_METADATA)


def test_metadata_is_a_collection_of_its_own() -> None:
    assert NODES.only_metadata() == NODE_METADATA != NODES
    assert LEASES.only_metadata().path("ns", "x") == LEASES.path("ns", "x")
    assert str(LEASES.only_metadata()) == "leases.coordination.k8s.io (metadata)"
