# SPDX-License-Identifier: Apache-2.0
"""Several collections of one kind as one lister: each object once, in its newest state, and in memory once."""

from __future__ import annotations

import pytest
from kit.nodes import added, cached, listed

from apimachinery.errors import UsageError
from apimachinery.objects import Cached, ObjectKey, PartialObjectMetadata, Received, labels_of
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NAMESPACES, NODES, PODS
from controller_runtime.cache.scope import CacheScope
from controller_runtime.cache.store import Store
from controller_runtime.cache.union import Peers, Union
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.testing import EmbeddedCluster, Simulation

RED, BLUE = Collection(NODES, label_selector="red"), Collection(NODES, label_selector="blue")


class Nothing(Reconciler):
    """Is asked, and does nothing."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def reconcile(self, request: Request) -> Result:
        self.asked.append(request)
        return Result()


def labelled(cluster: EmbeddedCluster, name: str, *labels: str) -> None:
    metadata = {"name": name, "labels": dict.fromkeys(labels, "")}
    cluster.user.create(NODES, {"metadata": metadata})


def a_pod(name: str, namespace: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def names_of(found: list[PartialObjectMetadata]) -> list[str]:
    return sorted(each.metadata.name for each in found)


def test_each_object_is_read_once_and_held_once(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    lister = cluster.manager.union_lister(RED, BLUE, view=PartialObjectMetadata)
    labelled(cluster, "r", "red")
    labelled(cluster, "early", "red", "blue")
    labelled(cluster, "none")
    cluster.start()
    labelled(cluster, "late", "red", "blue")
    simulation.settle()

    assert names_of(lister.list()) == ["early", "late", "r"]
    assert (len(lister), len(lister.keys())) == (3, 3)
    assert names_of(lister.list(selector="blue")) == ["early", "late"]
    red, blue = (cluster.manager.informers.of(each).store for each in (RED, BLUE))
    for name in ("early", "late"):
        assert red.get(ObjectKey(name)) is blue.get(ObjectKey(name)) is not None

    cluster.user.patch(NODES, ObjectKey("late"), {"metadata": {"labels": {"new": "x"}}})
    simulation.settle()
    assert red.get(ObjectKey("late")) is blue.get(ObjectKey("late")) is not None


def test_an_object_that_moves_to_the_other_collection_stays_and_one_that_leaves_both_goes(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    lister = cluster.manager.union_lister(RED, BLUE, view=dict)
    cluster.start()
    labelled(cluster, "a", "red")
    simulation.settle()

    moved = cluster.user.patch(NODES, ObjectKey("a"), {"metadata": {"labels": {"red": None, "blue": ""}}})
    assert lister.wait_for(moved.resource_version, 60.0)
    found = lister.get(ObjectKey("a"))
    assert found is not None
    assert labels_of(found).keys() >= {"blue"}

    cluster.user.patch(NODES, ObjectKey("a"), {"metadata": {"labels": {"blue": None}}})
    simulation.settle()
    assert lister.get(ObjectKey("a")) is None


def test_the_newest_state_wins_while_one_store_is_behind(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    lister = cluster.manager.union_lister(RED, BLUE, view=dict)
    for each in (RED, BLUE):
        cluster.manager.informers.of(each).add_index("x", lambda cached: [labels_of(cached).get("x", "")])
    cluster.start()
    labelled(cluster, "a", "red", "blue")
    simulation.settle()
    red = cluster.manager.informers.of(RED).store
    [old] = red.list()
    newer = Received(old.raw.replace(b'"red":""', b'"x":"1"'), "a", "", old.uid, str(int(old.resource_version) + 1))
    red.replace({("a", ""): newer}, newer.resource_version)

    assert [labels_of(each).get("x") for each in lister.list()] == ["1"]
    assert len(lister.by_index("x", "1")) == 1
    assert lister.by_index("x", "") == []  # the store that is behind has it there
    assert lister.version == old.resource_version
    assert lister.behind(newer.resource_version)
    assert not lister.wait_for(newer.resource_version, 0.0)


@pytest.mark.parametrize("newer_first", [False, True])
def test_versions_of_unequal_length_are_compared_as_numbers(sim: Simulation, newer_first: bool) -> None:
    """As texts, 9 would be the newer one of 9 and 10."""
    host = sim.host("h")
    stores = [Store(host, name) for name in "ab"]
    for store, version in zip(stores, (10, 9) if newer_first else (9, 10), strict=True):
        store.replace(listed(cached("x", version)), str(version))
    union = Union(host, stores)

    [listing], found = union.list(), union.get(ObjectKey("x"))

    assert found is not None
    assert (found.resource_version, listing.resource_version, union.version) == ("10", "10", "9")


def test_a_collection_that_another_covers_has_no_cache_of_its_own(cluster: EmbeddedCluster) -> None:
    cluster.manager.union_lister(RED, Collection(NODES), Collection(NODES, label_selector="red,blue"))

    assert [str(each) for each in cluster.manager.informers] == ["nodes"]
    with pytest.raises(UsageError, match="one kind, not 2"):
        cluster.manager.union_lister(RED, Collection(PODS))


def test_a_program_in_two_namespaces_reads_and_watches_both(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    for name in ("a", "b", "c"):
        cluster.user.create(NAMESPACES, {"metadata": {"name": name}})
        cluster.user.create(PODS, a_pod("p", name))
    cluster.manager.scope_caches(CacheScope(namespaces=("a", "b")))
    lister, nothing = cluster.manager.lister(PODS, dict), Nothing()
    cluster.manager.add(Controller("c", nothing).watch(PODS).watch(NODES))
    with pytest.raises(UsageError, match=r"several namespaces \(a, b\): name one of them"):
        cluster.manager.informer(PODS)
    with pytest.raises(UsageError, match="pods are cached already"):
        cluster.manager.scope_caches(CacheScope())
    cluster.start()
    simulation.settle()

    assert sorted(map(str, lister.keys())) == sorted(map(str, nothing.asked)) == ["a/p", "b/p"]
    assert sorted(map(str, cluster.manager.informers)) == ["nodes", "pods in a", "pods in b"]

    for name in ("b", "c"):
        cluster.user.create(PODS, a_pod("late", name))
    simulation.settle()
    assert str(nothing.asked[-1]) == "b/late"
    assert len(nothing.asked) == 3


def test_following_several_namespaces_is_refused_with_the_remedy(cluster: EmbeddedCluster) -> None:
    cluster.manager.scope_caches(CacheScope(namespaces=("a", "b")))
    cluster.manager.add(Controller("c", Nothing()).follow(PODS, lambda delta: []))

    with pytest.raises(UsageError, match="name one of them"):
        cluster.manager.run()


def test_stores_share_equal_objects_and_users_functions_run_while_another_store_may_take_some() -> None:
    with Simulation(1) as sim:
        host = sim.host("h")
        peers, taken = Peers(host), list[bool]()
        stores = [Store(host, name) for name in "ab"]
        peers.stores = tuple(stores)

        def zones(obj: Cached) -> list[str]:
            with peers.sharing(stores[1])():  # as the other store does
                taken.append(True)
            return ["all"]

        stores[0].add_index("zone", zones)

        def run() -> None:
            stores[1].replace(listed(cached("x", 1)), "1")
            stores[0].replace(listed(cached("x", 1)), "1", peers.sharing(stores[0]))
            stores[1].apply(added(cached("y", 2)), peers.sharing(stores[1]))
            stores[0].apply(added(cached("y", 2)), peers.sharing(stores[0]))

        host.spawn("reflector", run)
        sim.advance(1.0)

        for name in "xy":
            assert stores[0].get(ObjectKey(name)) is stores[1].get(ObjectKey(name)) is not None
        assert taken
