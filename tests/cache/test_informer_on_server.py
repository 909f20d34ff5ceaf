# SPDX-License-Identifier: Apache-2.0
"""Informers against the embedded server in this process, with faults between them."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from kit.cache.compressing import small_in_half
from kit.nodes import content, contents

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.decoding import Decoding
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.faults import (
    Answered,
    CutReply,
    CutStream,
    Fault,
    Faults,
    FaultyTransport,
    LostReply,
    Refused,
    SilentStream,
    no_faults,
)
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History

FAULTS: list[Callable[[random.Random], Fault]] = [
    lambda chance: Refused(),
    lambda chance: LostReply(),
    lambda chance: CutReply(),
    lambda chance: CutStream(chance.randrange(5)),
    lambda chance: SilentStream(chance.randrange(5)),
    lambda chance: Answered(HTTPResponse(429, {"retry-after": "1"}, b'{"reason":"TooManyRequests","code":429}')),
    lambda chance: Answered(HTTPResponse(410, {}, b'{"reason":"Expired","code":410}')),
    lambda chance: Answered(HTTPResponse(500, {}, b'{"reason":"InternalError","code":500}')),
]


class House:
    """A server and a client program on two hosts of one simulation."""

    def __init__(self, sim: Simulation, faults: Faults = no_faults, *, streaming: bool = True, seed: int = 0) -> None:
        self.host = sim.host("r0")
        self.server = APIServer(sim.host("server"), history=History(changes=10))
        straight = InProcessTransport(self.host, self.server)
        self.client = Client(self.host, straight)
        options = CacheOptions(streaming=streaming, compress=small_in_half(seed))
        self.informers = Informers(self.host, FaultyTransport(self.host, straight, faults), options)
        self.stop = Stop(self.host)

    def end(self) -> None:
        self.stop.set()
        assert self.informers.join_until(self.host.monotonic() + 5.0) == []
        self.server.close()


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])
def test_copy_follows_the_server(sim: Simulation, streaming: bool) -> None:
    house = House(sim, streaming=streaming)
    first = house.client.create(NODES, {"metadata": {"name": "a"}})
    informer = house.informers.of(Collection(NODES))
    lister = Lister(informer.store, NODES, dict)
    house.informers.start(house.stop)
    assert house.informers.wait_for_sync(house.stop, timeout=5.0)

    written = house.client.patch(NODES, ObjectKey("a"), {"metadata": {"labels": {"zone": "x"}}})
    assert lister.wait_for(written.resource_version, timeout=5.0)

    found = lister.get(ObjectKey("a"))
    assert found is not None
    assert found["metadata"]["labels"] == {"zone": "x"}
    assert (found["kind"], found["apiVersion"]) == ("Node", "v1")
    assert informer.store.list()[0].uid == first.uid
    house.end()


def test_quiet_collection_keeps_one_watch_for_hours(sim: Simulation) -> None:
    house = House(sim)
    informer = house.informers.of(Collection(LEASES, namespace="kube-system"))
    house.informers.start(house.stop)

    sim.advance(3600.0)

    assert informer.reflector.liveness.idle == 0
    assert informer.reflector.liveness.lists == 1
    assert 6 <= informer.reflector.liveness.watches <= 13
    assert informer.last_error == ""
    house.end()


def test_store_learns_of_writes_elsewhere_by_bookmarks(sim: Simulation) -> None:
    house = House(sim)
    leases = house.informers.of(Collection(LEASES))
    house.informers.start(house.stop)
    sim.settle()
    elsewhere = house.client.create(NODES, {"metadata": {"name": "a"}}).resource_version
    assert leases.store.behind(elsewhere)

    sim.advance(150.0)

    assert not leases.store.behind(elsewhere)
    house.end()


class Ledger:
    """Adds up the reported changes."""

    def __init__(self) -> None:
        self.copy: dict[ObjectKey, Cached] = {}

    def __call__(self, delta: Delta) -> None:
        assert content(self.copy.get(delta.key)) == content(delta.old), "a gap or a repetition"
        if delta.new is None:
            del self.copy[delta.key]
        else:
            self.copy[delta.key] = delta.new


@pytest.mark.parametrize("seed", range(30))
def test_copy_ends_equal_to_the_server_after_a_storm(seed: int) -> None:
    chance = random.Random(seed)
    calm = False

    def faults(number: int, request: HTTPRequest) -> Fault | None:
        return None if calm or chance.random() < 0.3 else chance.choice(FAULTS)(chance)

    with Simulation(seed=seed) as sim:
        house = House(sim, faults, streaming=seed % 3 > 0, seed=seed)
        informer = house.informers.of(Collection(NODES))
        informer.add_handler(ledger := Ledger())
        house.informers.start(house.stop)
        alive: set[str] = set()
        for _ in range(60):
            write(house.client, chance, alive)
            sim.advance(chance.choice([0.0, 0.1, 10.0, 200.0]))
        calm = True
        sim.advance(1200.0)

        assert {(obj.name, obj.uid, obj.resource_version, obj.raw) for obj in informer.store.list()} == served(house)
        assert contents(ledger.copy.values()) == contents(informer.store.list())
        house.end()


def write(client: Client, chance: random.Random, alive: set[str]) -> None:
    name = chance.choice("abcdef")
    if name not in alive:
        client.create(NODES, {"metadata": {"name": name}})
        alive.add(name)
    elif chance.random() < 0.5:
        client.patch(NODES, ObjectKey(name), {"metadata": {"labels": {"at": str(chance.random())}}})
    else:
        client.delete(NODES, ObjectKey(name))
        alive.discard(name)


def served(house: House) -> set[tuple[str, str, str, bytes]]:
    page = house.client.transport.request(HTTPRequest("GET", "/api/v1/nodes"), house.host.monotonic() + 5.0)
    return {(obj.name, obj.uid, obj.resource_version, obj.raw) for obj in Decoding(NODES).page(page.body).items}
