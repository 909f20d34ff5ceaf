# SPDX-License-Identifier: Apache-2.0
"""Replicas of a ring keep in their caches the objects of their own slots alone, and see no object vanish by that."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES, Resource
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.handlers import enqueue_owner
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.records import Assignment
from controller_runtime.ring.ring import Ring
from controller_runtime.ring.slots import SLOTS, slot_of_uid
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

pytestmark = pytest.mark.ends

ACCOUNTS: Resource[Any] = Resource("", "v1", "ServiceAccount", "serviceaccounts")
OBJECTS = 24
JOIN = 30.0
"""Virtual seconds after which a new member owns its slots."""


@attrs.define(eq=False)
class Replica:
    """One replica: its ring, its listers, and what has happened in it."""

    name: str
    ring: Ring
    nodes: Lister[Any]
    accounts: Lister[Any]
    stop: Stop
    informers: Any
    deleted: list[str] = attrs.field(factory=list)
    taken_early: list[str] = attrs.field(factory=list)

    @property
    def own(self) -> set[str]:
        """The names of the nodes in its cache."""
        return {key.name for key in self.nodes.keys()}  # noqa: SIM118

    def cached(self) -> dict[str, Cached]:
        """The objects in its cache of nodes."""
        return {cached.name: cached for cached in self._informer(NODES).store.list()}

    def is_selected(self) -> bool | None:
        """Whether the server said that it has chosen the nodes of the last list."""
        found: bool | None = self._informer(NODES).portion.is_selected
        return found

    def _informer(self, resource: Resource[Any]) -> Any:
        return next(one for one in self.informers if one.collection.resource == resource)


@attrs.frozen
class Seen(Reconciler):
    """Notes which replica saw which node, and whether it was there."""

    replica: str
    nodes: Lister[Any]
    log: list[tuple[str, str, bool]]

    def reconcile(self, request: Request) -> Result:
        self.log.append((self.replica, request.name, self.nodes.get(request) is not None))
        return Result()


class SlowLists(InProcessTransport):
    """A transport on which the pages of nodes take their time."""

    def __init__(self, host: SimulatedHost, server: APIServer) -> None:
        super().__init__(host, server)
        self._paused = Stop(host)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.method == "GET" and request.path == "/api/v1/nodes":
            self._paused.wait(4.0)
        return super().request(request, deadline)


class World:
    """Replicas on one API server, which can shard lists or not, and a user."""

    def __init__(self, sim: Simulation, *, shards: bool, by: RingBy = RingBy.UID) -> None:
        self.sim, self.by = sim, by
        self.server = APIServer(sim.host("server"), feature_gates={"ShardedListAndWatch": shards})
        user = sim.host("user")
        self.user = Client(user, InProcessTransport(user, self.server))
        self.log: list[tuple[str, str, bool]] = []
        self.uids: dict[str, str] = {}
        for number in range(OBJECTS):
            self.create(f"n{number:02d}")

    def create(self, name: str) -> None:
        node = self.user.create(NODES, {"metadata": {"name": name}})
        self.uids[name] = node.uid
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.uid, "controller": True}
        account = {"metadata": {"name": f"of-{name}-{node.uid}", "namespace": "default", "ownerReferences": [owner]}}
        self.user.create(ACCOUNTS, account)

    def replace(self, name: str) -> None:
        """Delete a node and create it again, before any replica hears of the deletion."""
        for method, path in (("DELETE", f"/api/v1/nodes/{name}"), ("POST", "/api/v1/nodes")):
            body = json.dumps({"metadata": {"name": name}}) if method == "POST" else ""
            answer = self.server.handle(
                HTTPRequest(method, path, (), {"content-type": "application/json"}, body.encode())
            )
            assert isinstance(answer, HTTPResponse)
            assert answer.status < 300
        self.uids[name] = json.loads(answer.body)["metadata"]["uid"]

    def start(self, name: str) -> Replica:
        host = self.sim.host(name)
        manager = Manager(host, SlowLists(host, self.server))
        ring = manager.ring("seers", self.by)
        ring.divide(NODES, children=[ACCOUNTS])
        nodes, accounts = manager.lister(NODES, dict), manager.lister(ACCOUNTS, dict)
        controller = Controller("seen", ring.shared(Seen(name, nodes, self.log))).watch(NODES)
        manager.add(controller.watch(ACCOUNTS, map=enqueue_owner(NODES)).receive(ring.requests(nodes)))
        replica = Replica(name, ring, nodes, accounts, Stop(host), manager.informers)

        def note(delta: Delta) -> None:
            if delta.new is None:
                replica.deleted.append(delta.key.name)

        manager.informer(NODES).add_handler(note)
        own_slots = ring.ownership.own

        def taken(slots: int, by: Assignment | None, given: int) -> int:
            own = replica.own
            names = (each for each, uid in self.uids.items() if slots >> slot_of_uid(uid) & 1)
            replica.taken_early.extend(each for each in names if each not in own)
            return own_slots(slots, by, given)

        ring.ownership.own = taken  # type: ignore[method-assign]
        host.spawn("program", lambda: manager.run(replica.stop))
        return replica


@pytest.fixture
def sim() -> Iterator[Simulation]:
    with Simulation(5) as simulation:
        yield simulation


@pytest.mark.parametrize("shards", [True, False], ids=["the server sends shards", "the server sends all"])
def test_each_replica_has_its_share_before_it_works_for_it(sim: Simulation, *, shards: bool) -> None:
    world = World(sim, shards=shards)
    for controller in ({}, {"controller": False}):
        owner = {"apiVersion": "v1", "kind": "Node", "name": "n00", "uid": world.uids["n00"], **controller}
        metadata = {"generateName": "free-", "namespace": "default", "ownerReferences": [owner]}
        world.user.create(ACCOUNTS, {"metadata": metadata})
    replicas = [world.start(name) for name in "abc"]
    sim.advance(JOIN)

    assert Counter(name for replica in replicas for name in replica.own) == Counter([*world.uids])
    assert all(3 <= len(replica.own) <= 14 for replica in replicas)
    for replica in replicas:
        assert replica.nodes.is_partial
        assert replica.is_selected() is shards
        assert {slot_of_uid(world.uids[name]) for name in replica.own} <= {
            slot for slot in range(SLOTS) if replica.ring.ownership.owns(slot)
        }
        assert not [account for account in replica.accounts.list() if account["metadata"]["name"].startswith("free-")]
        owners = {account["metadata"]["ownerReferences"][0]["name"] for account in replica.accounts.list()}
        assert owners == replica.own
        assert replica.taken_early == []
    assert {name for _, name, there in world.log if there} == {*world.uids}


def test_replicas_that_start_within_a_retry_period_get_their_shares_at_once(sim: Simulation) -> None:
    world = World(sim, shards=True)
    replicas = list[Replica]()
    for name in "abcd":
        replicas.append(world.start(name))
        sim.advance(0.5)
    most = {replica.name: 0 for replica in replicas}
    sim.check(lambda: most.update({each.name: max(most[each.name], len(each.own)) for each in replicas}))
    sim.advance(JOIN)

    assert most == {replica.name: len(replica.own) for replica in replicas}
    assert sum(most.values()) == OBJECTS
    assert {replica.ring.member.epoch for replica in replicas} == {1}


@pytest.mark.parametrize("shards", [True, False], ids=["the server sends shards", "the server sends all"])
def test_a_share_shrinks_without_deletions_and_grows_around_what_stays(sim: Simulation, *, shards: bool) -> None:
    world = World(sim, shards=shards)
    first = world.start("a")
    sim.advance(JOIN)
    assert first.own == {*world.uids}
    whole = first.cached()

    second = world.start("b")
    sim.advance(JOIN)
    assert first.own | second.own == {*world.uids}
    assert not first.own & second.own
    left = first.own

    second.stop.set()
    sim.advance(5.0)
    again = first.cached()
    assert {*again} == {*world.uids}
    assert all(again[name] is whole[name] for name in left)
    assert first.deleted == second.deleted == first.taken_early == second.taken_early == []


def test_changes_reach_the_owner_of_the_object_and_of_its_child(sim: Simulation) -> None:
    world = World(sim, shards=True)
    replicas = {name: world.start(name) for name in "ab"}
    sim.advance(JOIN)
    owners = {name: replica.name for replica in replicas.values() for name in replica.own}

    for change in (NODES, ACCOUNTS):
        world.log.clear()
        for name, uid in world.uids.items():
            key = ObjectKey(name) if change is NODES else ObjectKey(f"of-{name}-{uid}", "default")
            world.user.patch(change, key, {"metadata": {"labels": {"at": str(sim.time)}}})
        sim.advance(5.0)
        assert sorted(world.log) == sorted((owner, name, True) for name, owner in owners.items())


@pytest.mark.parametrize("by", [RingBy.UID, RingBy.NAME], ids=str)
def test_a_deleted_object_is_absent_for_its_owner_alone(sim: Simulation, by: RingBy) -> None:
    world = World(sim, shards=True, by=by)
    replicas = [world.start(name) for name in "ab"]
    sim.advance(JOIN)
    owners = {name: replica.name for replica in replicas for name in replica.own}
    world.log.clear()

    for name in ("n00", "n01", "n02", "n03"):
        world.user.delete(NODES, ObjectKey(name))
    sim.advance(5.0)

    assert sorted(world.log) == sorted((owners[name], name, False) for name in ("n00", "n01", "n02", "n03"))


@pytest.mark.parametrize("by", [RingBy.UID, RingBy.NAME], ids=str)
def test_an_object_that_is_created_again_is_seen_by_its_new_owner_alone(sim: Simulation, by: RingBy) -> None:
    world = World(sim, shards=True, by=by)
    replicas = [world.start(name) for name in "ab"]
    sim.advance(JOIN)
    before = {name: replica.name for replica in replicas for name in replica.own}
    world.log.clear()

    for name in world.uids:
        world.replace(name)
    sim.advance(5.0)

    after = {name: replica.name for replica in replicas for name in replica.own}
    assert {(replica, name) for replica, name, there in world.log if there} == {(o, name) for name, o in after.items()}
    moved = {name for name, owner in after.items() if owner != before[name]}
    assert moved if by is RingBy.UID else not moved
    # Its owner before may see the deletion alone, if that arrives before the creation.
    assert {(replica, name) for replica, name, there in world.log if not there} <= {(o, n) for n, o in before.items()}


def test_a_ring_by_uid_must_know_whose_uid(sim: Simulation) -> None:
    host = sim.host("a")
    manager = Manager(host, InProcessTransport(host, APIServer(sim.host("server"))))
    ring = manager.ring("seers", RingBy.UID)

    with pytest.raises(UsageError, match="ring/seers cannot tell whose uid a request means: give the kind"):
        ring.shared(Seen("a", manager.lister(NODES, dict), []))
    with pytest.raises(UsageError, match="nodes are cached already: divide their caches once, before"):
        ring.divide(NODES)
