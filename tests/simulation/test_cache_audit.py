# SPDX-License-Identifier: Apache-2.0
"""Caches whose watches lose changes: an audit finds each loss, mends it, and finds none where there is none."""

from __future__ import annotations

import random
from collections.abc import Callable

import attrs
import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import NODES
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.head import all_whole
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.scope import CacheScope
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Stream, Transport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History

pytestmark = pytest.mark.once

EVERY = 60.0


@attrs.define
class LosingStream:
    """A stream that loses the lines for which `loses` returns True; one that has nothing left reads on."""

    stream: Stream
    loses: Callable[[bytes], bool]
    linger: float = 0.0
    is_bulk: bool = False

    @property
    def response(self) -> HTTPResponse:
        return self.stream.response

    def read(self, deadline: float) -> list[bytes] | None:
        while (lines := self.stream.read(deadline)) is not None:
            if kept := [line for line in lines if not self.loses(line)]:
                return kept
        return None

    def close(self) -> None:
        self.stream.close()

    def __enter__(self) -> LosingStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.stream.close()


@attrs.define
class Losing:
    """A transport whose watches lose a share of the changes, while `is_on`, and whose pages take long to arrive."""

    transport: Transport
    chance: random.Random
    share: float
    never: Stop
    is_on: bool = True
    lost: int = 0

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        answer = self.transport.request(request, deadline)
        if ("resourceVersionMatch", "Exact") in request.query:
            self.never.wait(7.0)  # while objects change
        return answer

    def stream(self, request: HTTPRequest, deadline: float) -> LosingStream:
        return LosingStream(self.transport.stream(request, deadline), self._loses)  # type: ignore[return-value]

    def close(self) -> None:
        self.transport.close()

    def _loses(self, line: bytes) -> bool:
        is_lost = self.is_on and b'"BOOKMARK"' not in line and self.chance.random() < self.share
        self.lost += is_lost
        return is_lost


@attrs.define
class World:
    """A server with a user, and a manager that audits its cache of nodes."""

    sim: Simulation
    server: APIServer
    losing: Losing
    manager: Manager
    client: Client
    informer: Informer
    stop: Stop
    chance: random.Random

    @classmethod
    def made(cls, sim: Simulation, share: float, bodies: Bodies | None = None, **audit: int | None) -> World:
        host, user = sim.host("manager"), sim.host("user")
        server = APIServer(sim.host("server"), history=History(changes=200))
        losing = Losing(InProcessTransport(host, server), sim.chance("losses"), share, Stop(host, "never"))
        manager = Manager(host, losing)
        manager.audit_caches(every=EVERY, **audit)  # type: ignore[arg-type]
        manager.scope_caches(kinds={NODES: CacheScope(bodies=bodies)})
        client = Client(user, InProcessTransport(user, server))
        stop = Stop(host)
        world = cls(sim, server, losing, manager, client, manager.informer(NODES), stop, sim.chance("user"))
        spawn(host, stop, "manager", lambda: manager.run(stop))
        return world

    def write(self, number: int) -> None:
        name = f"n{number % 7}"
        if not any(node.metadata.name == name for node in self.client.list(NODES)):
            self.client.create(NODES, {"metadata": {"name": name}})
        elif self.chance.random() < 0.3:
            self.client.delete(NODES, ObjectKey(name))
        else:
            self.client.patch(NODES, ObjectKey(name), {"metadata": {"labels": {"at": str(number)}}})

    def held(self) -> dict[str, str]:
        return {cached.name: cached.resource_version for cached in self.informer.store.list()}

    def read(self) -> dict[str, str]:
        """Return the versions of the objects as a lister reads them, whose bodies may be newer than the metadata."""
        return {each.name: each.resource_version for each in all_whole(self.informer.reads.list())}

    def served(self) -> dict[str, str]:
        return {node.metadata.name: node.metadata.resource_version for node in self.client.list(NODES)}

    def end(self) -> None:
        self.stop.set()
        self.sim.advance(10.0)
        assert self.sim.threads() == []


@pytest.mark.parametrize("seed", range(6))
def test_each_lost_change_is_found_and_mended(seed: int) -> None:
    """While changes are lost some objects are wrong; two turns after the last loss none is."""
    with Simulation(seed) as sim:
        world = World.made(sim, 0.3, Bodies(memory=1_000 * seed) if seed % 2 else None)
        for number in range(200):
            world.write(number)
            sim.advance(world.chance.random() * 10.0)
            world.read()
        world.losing.is_on = False
        sim.advance(4 * EVERY)

        assert world.losing.lost > 10
        assert world.informer.audit.lost > 0
        assert world.held() == world.read() == world.served()
        world.end()


@pytest.mark.parametrize("seed", range(4))
def test_where_nothing_is_lost_nothing_is_found(seed: int) -> None:
    """Objects change and expire at the server while pages are asked for, and still agree."""
    with Simulation(seed) as sim:
        world = World.made(sim, share=0.0)
        for number in range(1500):
            world.write(number)
            sim.advance(world.chance.random() * 2.0)

        audit = world.informer.audit
        assert (audit.lost, world.informer.reflector.liveness.lists) == (0, 1)
        assert audit.pages > 10
        world.end()


def test_a_page_a_minute_is_all_it_asks_for_and_large_caches_are_left_alone(sim: Simulation) -> None:
    world = World.made(sim, share=0.0, most_objects=3)
    for name in ("a", "b", "c"):
        world.client.create(NODES, {"metadata": {"name": name}})
    sim.advance(20 * EVERY)
    assert 16 <= world.informer.audit.pages <= 20
    assert world.informer.audit.objects == 3 * world.informer.audit.pages

    world.client.create(NODES, {"metadata": {"name": "d"}})
    sim.advance(1.0)
    before = world.informer.audit.pages
    sim.advance(20 * EVERY)
    assert world.informer.audit.pages == before
    world.end()


def test_a_list_that_takes_longer_than_the_server_remembers_goes_on_at_a_newer_version(sim: Simulation) -> None:
    """The refusal has a token for that. The first loss that is found causes a new list, which mends the others, too."""
    world = World.made(sim, share=0.0)
    for number in range(1200):
        world.client.create(NODES, {"metadata": {"name": f"m{number:04}"}})
    sim.advance(0.1)
    world.losing.share = 1.0
    world.client.patch(NODES, ObjectKey("m1150"), {"metadata": {"labels": {"a": "b"}}})
    world.client.delete(NODES, ObjectKey("m0700"))
    sim.advance(1.0)
    world.losing.share = 0.0
    world.client.create(NODES, {"metadata": {"name": "a"}})
    sim.advance(1.3 * EVERY)
    assert (world.informer.audit.pages, world.informer.audit.lost) == (1, 0)
    for number in range(300):  # the server forgets the version of the first page
        world.client.patch(NODES, ObjectKey("m0000"), {"metadata": {"labels": {"n": str(number)}}})

    sim.advance(12 * EVERY)

    assert world.informer.audit.expired > 0
    assert world.informer.audit.lost == 1
    assert world.held() == world.served()
    world.end()


def test_what_a_list_does_not_mend_is_told_once(sim: Simulation) -> None:
    world = World.made(sim, share=0.0)
    world.client.create(NODES, {"metadata": {"name": "a"}})
    sim.advance(1.0)
    store = world.informer.store
    replace = store.replace
    store.replace = lambda objects, version: replace({}, version)  # type: ignore[method-assign, assignment]
    store.replace({}, store.version)

    sim.advance(20 * EVERY)

    assert (world.informer.audit.lost, world.informer.reflector.liveness.lists) == (1, 2)
    world.end()
