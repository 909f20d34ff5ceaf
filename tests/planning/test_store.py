# SPDX-License-Identifier: Apache-2.0
"""The caches of a plan show what is planned, in the place of what it replaces."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery.objects import Cached, ObjectKey, cached_from_bytes, labels_of
from controller_runtime.api.collection import Collection
from controller_runtime.cache.forms import as_received
from controller_runtime.cache.transforms import without
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.planning.overlay import Overlay, PlannedObject
from controller_runtime.planning.reads import encoded
from controller_runtime.planning.store import PlannedStore
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.testing import Simulation


def config_map(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "7", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"}}


def label(cached: Cached) -> list[str]:
    return [*labels_of(cached).values()]


class Caching:
    """A store with the objects a and b, and an overlay."""

    def __init__(self, sim: Simulation, collection: Collection, *, of: tuple[str, ...] = ("a", "b")) -> None:
        host = sim.host("here")
        self.overlay = Overlay(host)
        self.store = PlannedStore(host, "store", as_received, collection, without(("data",)), self.overlay)
        cached = [cached_from_bytes(encoded(config_map(name, l="old"))) for name in of]
        self.store.replace({each.plain_key: each for each in cached}, "7")

    def plan(self, name: str, state: dict[str, Any] | None) -> None:
        target = resource_path(f"/api/v1/namespaces/default/configmaps/{name}")
        assert target is not None
        self.overlay.put(self.overlay.get(target), PlannedObject(target, None, state))

    def names(self) -> list[str]:
        return [each.name for each in self.store.list()]


@pytest.fixture
def caching(sim: Simulation) -> Caching:
    return Caching(sim, Collection(CONFIG_MAPS))


def test_a_planned_state_replaces_hides_or_follows_the_objects_that_are_there(caching: Caching) -> None:
    caching.plan("a", config_map("a", l="new"))
    caching.plan("b", None)
    caching.plan("c", config_map("c"))

    assert caching.names() == ["a", "c"]
    assert len(caching.store) == 2
    assert caching.store.get(ObjectKey("b", "default")) is None
    found = caching.store.get(ObjectKey("a", "default"))
    assert found is not None
    assert labels_of(found) == {"l": "new"}
    assert b'"data"' not in found.raw, "the transform of the cache counts for planned states, too"


def test_indices_follow_what_is_planned_also_those_added_later(caching: Caching) -> None:
    caching.store.add_index("label", label)
    caching.plan("a", config_map("a", l="new"))
    caching.plan("c", config_map("c", l="old"))
    caching.store.add_index("again", label)

    for name in ("label", "again"):
        assert [each.name for each in caching.store.by_index(name, "old")] == ["b", "c"]
        assert [each.name for each in caching.store.by_index(name, "new")] == ["a"]
        assert sorted(caching.store.index_values(name)) == ["new", "old"]

    caching.plan("a", None)
    caching.plan("b", config_map("b", l="new"))
    assert [each.name for each in caching.store.by_index("label", "new")] == ["b"]
    with pytest.raises(KeyError):
        caching.store.by_index("nothing", "x")


def test_an_object_enters_and_leaves_a_collection_by_its_planned_labels(sim: Simulation) -> None:
    caching = Caching(sim, Collection(CONFIG_MAPS, "default", "l=old"))

    caching.plan("a", config_map("a", l="new"))
    caching.plan("c", config_map("c", l="old"))

    assert caching.names() == ["b", "c"]


def test_a_cache_of_metadata_shows_metadata(sim: Simulation) -> None:
    caching = Caching(sim, Collection(CONFIG_MAPS.only_metadata()), of=())

    caching.plan("c", config_map("c"))

    [found] = caching.store.list()
    assert b"PartialObjectMetadata" in found.raw


def test_a_planned_deletion_is_not_waited_for(caching: Caching) -> None:
    found = caching.store.get(ObjectKey("a", "default"))
    assert found is not None
    caching.plan("a", None)

    assert caching.store.wait_for_deletion(found.meta, 0.0)


def test_the_servers_later_word_does_not_undo_what_is_planned(caching: Caching) -> None:
    caching.plan("a", config_map("a", l="new"))
    cached = cached_from_bytes(encoded({**config_map("a", l="theirs")}))
    caching.store.replace({cached.plain_key: cached}, "9")

    assert [labels_of(each) for each in caching.store.list()] == [{"l": "new"}]
