# SPDX-License-Identifier: Apache-2.0
"""Reads of one's own writes through a cache that receives them ten seconds later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kit.cache.lagging import LaggingTransport
from kit.nodes import added, bookmark, cached, listed

from apimachinery.errors import Conflict, StaleCache
from apimachinery.objects import ObjectKey, PartialObjectMetadata, meta
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, NODES, Resource
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.own_writes import OwnWrites
from controller_runtime.cache.store import Store
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

LAG = 10.0
DEPLOYMENTS: Resource[Any] = Resource("apps", "v1", "Deployment", "deployments")
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SPECS = {"Deployment": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}


class World:
    """A server, a client that reaches it at once, and informers whose watches lag."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.host: SimulatedHost = sim.host("r0")
        self.server = APIServer(sim.host("server"))
        straight = InProcessTransport(self.host, self.server)
        self.client = Client(self.host, straight)
        self.informers = Informers(self.host, LaggingTransport(self.host, straight, LAG))
        self.stop = Stop(self.host)
        self.informers.start(self.stop)

    def thing(self, resource: Resource[Any], name: str = "x") -> dict[str, Any]:
        where = {"namespace": "default"} if resource.namespaced else {}
        return {"metadata": {"name": name, **where}, "spec": SPECS.get(resource.kind, {})}

    def lister(self, resource: Resource[Any], view: type[Any] | None = None, namespace: str = "") -> Lister[Any]:
        informer = self.informers.of(Collection(resource, namespace=namespace))
        assert informer.wait_for_sync(self.stop, self.host.monotonic() + 60.0)
        return Lister(informer.store, resource, view)


@pytest.fixture
def world(sim: Simulation) -> Iterator[World]:
    made = World(sim)

    yield made

    made.stop.set()
    assert made.informers.join_until(made.host.monotonic() + 1.0) == []
    made.server.close()


Write = Callable[[World, Resource[Any], ObjectKey], str]
"""Writes, and returns the version of the write."""

LABEL = {"metadata": {"labels": {"l": "v"}}}


def replaced(world: World, resource: Resource[Any], key: ObjectKey) -> str:
    whole = world.client.get(resource, key, dict)
    whole["metadata"]["labels"] = {"l": "v"}
    return world.client.update(resource, whole).resource_version


def applied(world: World, resource: Resource[Any], key: ObjectKey) -> str:
    wanted = world.thing(resource, key.name) | LABEL
    wanted["metadata"] = {**world.thing(resource, key.name)["metadata"], **LABEL["metadata"]}
    return world.client.apply(resource, wanted, field_manager="me", force=True).resource_version


def created(world: World, resource: Resource[Any], key: ObjectKey) -> str:
    return world.client.create(resource, world.thing(resource, "new")).resource_version


def patched(world: World, resource: Resource[Any], key: ObjectKey) -> str:
    return world.client.patch(resource, key, LABEL).resource_version


CONDITION = {"type": "Known", "status": "True", "reason": "Told", "message": "", "lastTransitionTime": None}


def status_patched(world: World, resource: Resource[Any], key: ObjectKey) -> str:
    status = {"status": {"conditions": [CONDITION]}}
    return world.client.patch(resource, key, status, subresource="status").resource_version


def status_replaced(world: World, resource: Resource[Any], key: ObjectKey) -> str:
    whole = world.client.get(resource, key, dict)
    whole["status"] = {"conditions": [CONDITION]}
    return world.client.update(resource, whole, subresource="status").resource_version


def scaled(world: World, resource: Resource[Any], key: ObjectKey) -> str:
    return world.client.patch(resource, key, {"spec": {"replicas": 3}}, subresource="scale").resource_version


def scale_replaced(world: World, resource: Resource[Any], key: ObjectKey) -> str:
    scale = world.client.get_subresource(resource, key, "scale")
    return world.client.update(resource, {**scale, "spec": {"replicas": 3}}, subresource="scale").resource_version


@pytest.mark.scenario("RY-01")
@pytest.mark.parametrize(
    ("resource", "write"),
    [
        *((resource, write) for resource in (NODES, LEASES) for write in (created, replaced, patched, applied)),
        *((resource, write) for resource in (NODES, DEPLOYMENTS) for write in (status_patched, status_replaced)),
        *((DEPLOYMENTS, write) for write in (scaled, scale_replaced)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#3320")
def test_after_waiting_for_its_version_every_read_has_the_write(
    world: World, resource: Resource[Any], write: Write
) -> None:
    """While the watch lags ten seconds, get and list find the write: in one namespace and all, in each form."""
    request = ObjectKey("x", "default" if resource.namespaced else "")
    world.client.create(resource, world.thing(resource))
    listers = [
        world.lister(resource, dict),
        world.lister(resource),
        world.lister(resource.only_metadata(), PartialObjectMetadata),
    ]
    if resource.namespaced:
        listers.append(world.lister(resource, namespace="default"))
    before = world.sim.time

    version = write(world, resource, request)
    named = ObjectKey("new", request.namespace) if write is created else request

    assert all(lister.behind(version) for lister in listers)
    for lister in listers:
        assert lister.wait_for(version, timeout=60.0)
        for found in (lister.get(named), *(o for o in lister.list() if meta(o).name == named.name)):
            assert found is not None
            assert compare_versions(meta(found).resource_version, version) >= 0
    assert LAG <= world.sim.time - before < 2 * LAG


@pytest.mark.scenario("RY-01")
@pytest.mark.parametrize("resource", [NODES, LEASES], ids=str)
@pytest.mark.parametrize("finalizers", [[], ["test/held"]], ids=["gone", "held"])
def test_after_waiting_for_its_deletion_no_read_has_it_as_it_was(
    world: World, resource: Resource[Any], finalizers: list[str]
) -> None:
    """A deleted object is gone from get and list; one with finalizers is found, with its timestamp of deletion."""
    thing = world.thing(resource)
    thing["metadata"]["finalizers"] = finalizers
    lister = world.lister(resource, dict)
    made = world.client.create(resource, thing)
    world.client.delete(resource, made.key)

    assert lister.get(made.key) is None, "it has not even been seen to be there"
    assert lister.wait_for_deletion(made, timeout=60.0)

    found = lister.get(made.key)
    if finalizers:
        assert found is not None
        assert meta(found).deletion_timestamp is not None
        assert meta(found).finalizers == finalizers
    else:
        assert (found, lister.list(), lister.behind(made.resource_version)) == (None, [], False)


def test_a_deletion_is_seen_though_another_has_taken_the_name(world: World) -> None:
    lister = world.lister(NODES, dict)
    made = world.client.create(NODES, world.thing(NODES))
    world.client.delete(NODES, made.key)
    again = world.client.create(NODES, world.thing(NODES))

    assert lister.wait_for_deletion(made, timeout=60.0)
    assert not lister.wait_for_deletion(again, timeout=60.0)


@pytest.mark.scenario("RY-02")
def test_a_write_that_fails_leaves_reads_alone(world: World) -> None:
    """No read waits, because there is no write to wait for."""
    made = world.client.create(NODES, world.thing(NODES))
    lister = world.lister(NODES, dict)
    before = world.sim.time

    with pytest.raises(Conflict):
        world.client.patch(NODES, made.key, {"metadata": {"resourceVersion": "1"}})

    assert lister.get(made.key) is not None
    assert not lister.behind(made.resource_version)
    assert world.sim.time == before


@pytest.mark.scenario("RY-04")
def test_a_storm_of_writes_to_one_object_delays_no_read_of_another(world: World) -> None:
    """Reads never wait by themselves, and a wait for a version waits for that version alone."""
    world.client.create(NODES, world.thing(NODES, "a"))
    other = world.client.create(NODES, world.thing(NODES, "b"))
    lister, own = world.lister(NODES, dict), OwnWrites(world.host)
    for number in range(100):
        written = world.client.patch(NODES, ObjectKey("a"), {"metadata": {"labels": {"n": str(number)}}})
        own.wrote(ObjectKey("a"), "", lister, written.resource_version)
    before = world.sim.time

    assert lister.get(ObjectKey("b")) is not None
    assert lister.wait_for(other.resource_version, timeout=60.0)
    own.check(ObjectKey("b"))
    assert world.sim.time == before
    with pytest.raises(StaleCache):
        own.check(ObjectKey("a"))


class Gate:
    """A gate and two collections whose versions a test sets."""

    OWNER = ObjectKey("owner")

    def __init__(self, host: SimulatedHost) -> None:
        self.own = OwnWrites(host)
        self.stores = Store(host), Store(host)
        self.nodes, self.leases = Lister(self.stores[0], NODES, dict), Lister(self.stores[1], LEASES, dict)

    def fill(self, store: int, version: int) -> None:
        self.stores[store].replace({}, str(version))

    def is_ready(self) -> bool:
        try:
            self.own.check(self.OWNER)
        except StaleCache:
            return False
        return True


@pytest.fixture
def gate(sim: Simulation) -> Gate:
    return Gate(sim.host("r0"))


@pytest.mark.scenario("GS-01")
@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#1464")
def test_an_owner_is_held_up_until_the_cache_has_its_newest_write(gate: Gate) -> None:
    """After writes 5, 10 and 8 an unfilled cache holds nothing up, one at 5 does, and one at 10 drops the record."""
    for version in ("5", "10", "8"):
        gate.own.wrote(gate.OWNER, "u", gate.nodes, version)
    assert (gate.is_ready(), len(gate.own)) == (True, 0)

    gate.fill(0, 5)
    for version in ("5", "10", "8"):
        gate.own.wrote(gate.OWNER, "u", gate.nodes, version)
    with pytest.raises(StaleCache, match=r"^owner: the cache of nodes is at 5, our last write at 10$"):
        gate.own.check(gate.OWNER)

    gate.stores[0].apply(bookmark(10))
    assert (gate.is_ready(), len(gate.own)) == (True, 0)


@pytest.mark.scenario("GS-01")
def test_an_owner_is_held_up_until_all_caches_have_its_writes(gate: Gate) -> None:
    """The record is kept while a second resource is behind, though the first has caught up beyond."""
    gate.fill(0, 15)
    gate.fill(1, 3)
    gate.own.wrote(gate.OWNER, "u", gate.nodes, "10")
    gate.own.wrote(gate.OWNER, "u", gate.leases, "4")
    assert not gate.is_ready()

    gate.stores[1].apply(bookmark(4))
    assert gate.is_ready()


@pytest.mark.scenario("GS-01")
@pytest.mark.parametrize(
    ("owner", "uid", "left"),
    [("another", "", 1), ("owner", "wrong", 1), ("owner", "u", 0), ("owner", "", 0)],
    ids=["unknown owner", "wrong uid", "right uid", "any uid"],
)
def test_what_is_forgotten_is_the_owners_own(gate: Gate, owner: str, uid: str, left: int) -> None:
    """The record is kept for an unknown owner and a wrong uid, and dropped for the right uid and for no uid."""
    gate.own.wrote(gate.OWNER, "u", gate.nodes, "10")

    gate.own.forget(ObjectKey(owner), uid)

    assert len(gate.own) == left


@pytest.mark.scenario("GS-01")
def test_a_new_owner_of_the_name_begins_anew_and_odd_versions_hold_nobody_up(gate: Gate) -> None:
    """Another uid replaces the record; a version that is no number never blocks."""
    gate.fill(0, 5)
    gate.own.wrote(gate.OWNER, "old", gate.nodes, "10")
    gate.own.wrote(gate.OWNER, "new", gate.nodes, "5")
    assert gate.is_ready()

    gate.own.wrote(gate.OWNER, "new", gate.nodes, "abc")
    assert (len(gate.own), gate.is_ready()) == (0, True)


@pytest.mark.scenario("GS-01")
def test_a_hundred_threads_make_one_record(sim: Simulation, gate: Gate) -> None:
    """When each thread writes one version of the same owner, there is one record, and the newest version counts."""
    gate.fill(0, 99)
    host = sim.host("r1")
    for version in range(1, 101):
        host.spawn(f"w{version}", lambda v=version: gate.own.wrote(gate.OWNER, "u", gate.nodes, str(v)))  # type: ignore[misc]
    sim.settle()

    assert (len(gate.own), gate.is_ready()) == (1, False)
    gate.stores[0].apply(added(cached("a", 100)))
    assert gate.is_ready()


class AskedBeforeAWrite(Lister[Any]):
    """A collection in which an object is written each time it is asked."""

    def __init__(self, store: Store, write: Callable[[Lister[Any]], None]) -> None:
        super().__init__(store, NODES, dict)
        self._write = write

    def behind(self, version: str) -> bool:
        self._write(self)
        return super().behind(version)


def test_what_is_written_during_a_look_is_not_forgotten_with_what_was_seen(gate: Gate) -> None:
    lister = AskedBeforeAWrite(gate.stores[0], lambda asked: gate.own.wrote(gate.OWNER, "u", asked, "9"))
    gate.fill(0, 5)
    gate.own.wrote(gate.OWNER, "u", lister, "5")

    assert [gate.is_ready(), gate.is_ready()] == [True, False]


def test_a_server_that_went_back_holds_nobody_up(gate: Gate) -> None:
    gate.fill(0, 50)
    gate.own.wrote(gate.OWNER, "u", gate.nodes, "60")
    assert not gate.is_ready()

    gate.stores[0].replace(listed(cached("a", 20)), "40")

    assert (gate.is_ready(), gate.nodes.resets) == (True, 1)
    gate.own.wrote(gate.OWNER, "u", gate.nodes, "41")
    assert not gate.is_ready()
