# SPDX-License-Identifier: Apache-2.0
"""Kinds that users define, found by discovery, written by a client and followed by an informer, as all others are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apimachinery.errors import NotFound
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.options import CacheOptions
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

NAMES = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "shortNames": ["gd"]}
SPEC = {"type": "object", "properties": {"size": {"type": "integer"}}}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": ANYTHING}}}
V1 = {"name": "v1", "served": True, "storage": True, "schema": SCHEMA, "subresources": {"status": {}}}
DEFINITION = {
    "metadata": {"name": "gadgets.demo.example.com"},
    "spec": {"group": "demo.example.com", "scope": "Namespaced", "names": NAMES, "versions": [V1]},
}


class World:
    """A server that has gadgets, and a program that does not know their kind in advance."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.host = sim.host("r0")
        self.server = APIServer(sim.host("server"))
        self.transport = InProcessTransport(self.host, self.server)
        self.client = Client(self.host, self.transport)
        self.stop = Stop(self.host)
        self.definitions = self.client.resource("CustomResourceDefinition")
        self.client.create(self.definitions, DEFINITION)
        sim.advance(10.0)

    def followed(self, *, streaming: bool) -> Informer:
        informers = Informers(self.host, self.transport, CacheOptions(streaming=streaming))
        informer = informers.of(Collection(self.client.resource("gd")))
        informers.start(self.stop)
        assert informers.wait_for_sync(self.stop, 60.0)
        return informer


@pytest.fixture
def world(sim: Simulation) -> Iterator[World]:
    made = World(sim)

    yield made

    made.stop.set()
    made.server.close()


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "by pages"])
def test_a_kind_that_somebody_defined_is_written_and_followed_like_any_other(world: World, streaming: bool) -> None:
    gadgets = world.client.resource("gadgets.demo.example.com")
    world.client.create(gadgets, {"metadata": {"name": "a"}, "spec": {"size": 1}}, "default")
    informer = world.followed(streaming=streaming)
    lister: Lister[Any] = Lister(informer.store, gadgets)

    written = world.client.patch(gadgets, ObjectKey("a", "default"), {"spec": {"size": 2}})
    told = world.client.patch(gadgets, written.key, {"status": {"ready": True}}, subresource="status")

    assert lister.wait_for(told.resource_version, timeout=60.0)
    found = lister.get(written.key)
    assert (found["spec"], found["status"], found["kind"]) == ({"size": 2}, {"ready": True}, "Gadget")
    assert informer.reflector.liveness.skipped == 0


def test_a_kind_that_is_undefined_and_defined_anew_is_followed_again(world: World) -> None:
    gadgets = world.client.resource("gd")
    world.client.create(gadgets, {"metadata": {"name": "a"}}, "default")
    informer = world.followed(streaming=True)

    world.client.delete(world.definitions, ObjectKey("gadgets.demo.example.com"))
    world.sim.advance(300.0)
    with pytest.raises(NotFound):
        world.client.list(gadgets)
    assert informer.last_error != "", "nobody would know why nothing comes any more"

    world.client.create(world.definitions, DEFINITION)
    world.sim.advance(10.0)
    world.client.create(gadgets, {"metadata": {"name": "b"}}, "default")
    world.sim.advance(300.0)

    assert [gadget.name for gadget in informer.store.list()] == ["b"]
    assert informer.last_error == ""
