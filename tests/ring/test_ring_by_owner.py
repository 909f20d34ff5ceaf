# SPDX-License-Identifier: Apache-2.0
"""In a ring by owner, an object and all that it controls are the work of one replica, whatever its caches hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES, Resource
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.kind import RingKind
from controller_runtime.ring.ring import Ring
from controller_runtime.ring.slots import slot_of_name
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

ACCOUNTS: Resource[Any] = Resource("", "v1", "ServiceAccount", "serviceaccounts")
OWNERS = [f"n{number}" for number in range(8)]
JOIN = 30.0
"""Virtual seconds after which a new member owns its slots."""


@attrs.frozen
class Seen(Reconciler):
    """Notes which replica saw which object, and whether it was there."""

    replica: str
    objects: Lister[Any]
    log: list[tuple[str, str, bool]]

    def reconcile(self, request: Request) -> Result:
        self.log.append((self.replica, request.name, self.objects.get(request) is not None))
        return Result()


class World:
    """Nodes that control accounts, replicas that share both kinds, and a user."""

    def __init__(self, sim: Simulation, *, divided: bool) -> None:
        self.sim, self.divided = sim, divided
        self.server = APIServer(sim.host("server"))
        user = sim.host("user")
        self.user = Client(user, InProcessTransport(user, self.server))
        self.log: list[tuple[str, str, bool]] = []
        self.passes_over = False  # whether the controllers pass over changes; see `counts`
        self.rings: dict[str, Ring] = {}
        self.listers: dict[str, list[Lister[Any]]] = {}
        self.uids = {name: self.user.create(NODES, {"metadata": {"name": name}}).uid for name in OWNERS}
        for name in OWNERS:
            for number in range(3):
                self.create(f"{name}-{number}", name)
        self.user.create(ACCOUNTS, {"metadata": {"name": "free", "namespace": "default"}})

    def controlled_by(self, owner: str) -> list[dict[str, Any]]:
        reference = {"apiVersion": "v1", "kind": "Node", "name": owner, "uid": self.uids[owner]}
        return [{**reference, "controller": True}]

    def create(self, name: str, owner: str) -> None:
        metadata = {"name": name, "namespace": "default", "ownerReferences": self.controlled_by(owner)}
        self.user.create(ACCOUNTS, {"metadata": metadata})

    def start(self, name: str) -> None:
        host = self.sim.host(name)
        manager = Manager(host, InProcessTransport(host, self.server))
        ring = self.rings[name] = manager.ring("seers", RingBy.OWNER)
        if self.divided:
            ring.divide(NODES)
            ring.divide(ACCOUNTS)
        self.listers[name] = [manager.lister(kind, dict) for kind in (NODES, ACCOUNTS)]
        for lister in self.listers[name]:
            controller = Controller(lister.resource.plural, Seen(name, lister, self.log))
            manager.add(controller.watch(lister.resource, self.counts).shareable(lister))
            ring.share(controller)
        host.spawn("program", lambda: manager.run(Stop(host)))

    def counts(self, delta: Delta) -> bool:
        return not self.passes_over or delta.old is None

    def change(self, name: str, **metadata: Any) -> None:
        self.user.patch(ACCOUNTS, ObjectKey(name, "default"), {"metadata": metadata})

    def seen(self) -> dict[str, set[tuple[str, bool]]]:
        """Which replicas saw each object since the last call, and whether it was there; advances the time."""
        self.sim.advance(5.0)
        found = defaultdict(set)
        for replica, name, there in self.log:
            found[name].add((replica, there))
        self.log.clear()
        return found


@pytest.fixture(params=[True, False], ids=["divided caches", "whole caches"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with Simulation(5) as sim:
        world = World(sim, divided=request.param)
        for name in "ab":
            world.start(name)
        sim.advance(JOIN)
        world.log.clear()
        yield world


def replica_of(world: World, owner: str) -> str:
    """The replica that owns the slot of an owner."""
    slot = slot_of_name(world.uids[owner])
    (found,) = (name for name, ring in world.rings.items() if ring.ownership.owns(slot))
    return found


@pytest.mark.scenario("RG-15")
def test_an_owner_and_all_that_it_controls_are_the_work_of_one_replica(world: World) -> None:
    for name in OWNERS:
        world.user.patch(NODES, ObjectKey(name), {"metadata": {"labels": {"at": "1"}}})
        for number in range(3):
            world.change(f"{name}-{number}", labels={"at": "1"})
    world.change("free", labels={"at": "1"})

    seen = world.seen()
    assert len(seen.pop("free")) == 1
    assert seen == {
        name: {(replica_of(world, owner), True)}
        for owner in OWNERS
        for name in (owner, *(f"{owner}-{number}" for number in range(3)))
    }
    assert {replica_of(world, owner) for owner in OWNERS} == {"a", "b"}
    if world.divided:
        names = {replica: {key.name for lister in found for key in lister.keys()}  # noqa: SIM118
                 for replica, found in world.listers.items()}  # fmt: skip
        assert not names["a"] & names["b"], "an object is in two shares"


def test_an_object_that_its_controller_creates_again_stays_and_an_adopted_one_moves(world: World) -> None:
    ours = next(owner for owner in OWNERS if replica_of(world, owner) == "a")
    theirs = next(owner for owner in OWNERS if replica_of(world, owner) == "b")

    world.user.delete(ACCOUNTS, ObjectKey(f"{ours}-0", "default"))
    world.create(f"{ours}-0", ours)
    seen = world.seen()  # its absence may have been seen between the two requests
    assert {name: found - {("a", False)} for name, found in seen.items()} == {f"{ours}-0": {("a", True)}}

    world.change(f"{ours}-0", ownerReferences=world.controlled_by(theirs))
    assert world.seen() == {f"{ours}-0": {("b", True)}}

    world.user.delete(ACCOUNTS, ObjectKey(f"{ours}-0", "default"))
    assert world.seen() == {f"{ours}-0": {("b", False)}}
    slots = {ring.slot_of(ObjectKey(f"{ours}-0", "default"), ring._kinds[ACCOUNTS]) for ring in world.rings.values()}
    assert slots == {None}, "a replica remembers an object whose absence was reconciled"


def test_an_object_of_another_slot_that_takes_a_name_while_the_server_is_asked_is_its_owners_work(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    exists = RingKind.exists

    def too_early(kind: RingKind, key: ObjectKey) -> bool:
        found = exists(kind, key)
        if not found and key.name == "n0-0":  # the answer takes a while
            world.create("n0-0", theirs)
            Stop(world.sim.host("slow")).wait(1.0)
        return found

    replica = replica_of(world, "n0")
    theirs = next(owner for owner in OWNERS if replica_of(world, owner) != replica)
    monkeypatch.setattr(RingKind, "exists", too_early)
    world.user.delete(ACCOUNTS, ObjectKey("n0-0", "default"))

    seen = world.seen()["n0-0"]
    assert seen - {(replica, False)} == {(replica_of(world, theirs), True)}


def test_an_adopted_object_is_reconciled_though_a_predicate_passes_over_the_adoption(world: World) -> None:
    ours = next(owner for owner in OWNERS if replica_of(world, owner) == "a")
    theirs = next(owner for owner in OWNERS if replica_of(world, owner) == "b")
    world.passes_over = True

    world.change(f"{ours}-0", ownerReferences=world.controlled_by(theirs))

    assert world.seen() == {f"{ours}-0": {("b", True)}}


def test_a_ring_by_owner_must_know_whose_owner_and_keeps_children_as_any_kind() -> None:
    with Simulation(5) as sim:
        host = sim.host("a")
        manager = Manager(host, InProcessTransport(host, APIServer(sim.host("server"))))
        ring = manager.ring("seers", RingBy.OWNER)
        reconciler = Seen("a", manager.lister(NODES, dict), [])

        with pytest.raises(UsageError, match="ring/seers cannot tell whose owner a request means: give the kind"):
            ring.shared(reconciler)
        with pytest.raises(UsageError, match="keeps objects with their controllers: call its `divide` with each child"):
            ring.divide(ACCOUNTS, children=[NODES])
        ring.shared(reconciler, NODES)
        ring.shared(reconciler)
