# SPDX-License-Identifier: Apache-2.0
"""The lister: typed reads, each the reader's own, by name, namespace, labels and index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from kit.nodes import added, cached, listed, packed
from kubernetes.client import V1Node

from apimachinery.errors import DecodeError, UsageError
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, cached_from_bytes
from apimachinery.system import SystemHost
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Store


class Named(msgspec.Struct):
    metadata: ObjectMeta


class Strict(msgspec.Struct):
    metadata: ObjectMeta
    spec: dict[str, Any]


def store_of(*objects: Cached) -> Store:
    store = Store(SystemHost("test"))
    store.replace(listed(*objects), "9")
    return store


def lease(name: str, namespace: str, **labels: str) -> Cached:
    return cached_from_bytes(packed({"metadata": {"name": name, "namespace": namespace, "labels": labels}}))


@pytest.mark.scenario("CC-08")
def test_one_store_is_read_as_several_classes() -> None:
    """Typed, plain and own views of one kind all work over one store and thus over one watch."""
    store = store_of(cached("a", 1, zone="x"))

    model = Lister(store, NODES).get(ObjectKey("a"))
    plain = Lister(store, NODES, dict).get(ObjectKey("a"))
    view = Lister(store, NODES, Named).get(ObjectKey("a"))

    assert isinstance(model, V1Node)
    assert plain is not None
    assert plain["metadata"]["name"] == "a"
    assert view is not None
    assert view.metadata.labels == {"zone": "x"}


@pytest.mark.scenario("CC-02")
def test_changing_what_was_read_leaves_the_store_alone() -> None:
    """A reader owns the objects that it reads: changes to them do not reach the cache."""
    lister = Lister(store_of(cached("a", 1, zone="x")), NODES, dict)

    for read in (lister.get(ObjectKey("a")), *lister.list()):
        assert read is not None
        read["metadata"]["labels"]["zone"] = "spoiled"

    assert lister.list()[0]["metadata"]["labels"] == {"zone": "x"}


def test_object_that_is_not_there_is_none() -> None:
    lister = Lister(store_of(), NODES)

    assert lister.get(ObjectKey("a")) is None
    assert (len(lister), lister.keys(), lister.list()) == (0, [], [])


@pytest.mark.parametrize(
    ("namespace", "selector", "names"),
    [
        pytest.param("", "", ["a", "b", "c"], id="all"),
        pytest.param("n1", "", ["a", "b"], id="a namespace"),
        pytest.param("", "app=x", ["a", "c"], id="labels"),
        pytest.param("n1", "app!=x", ["b"], id="labels in a namespace"),
        pytest.param("elsewhere", "", [], id="an empty namespace"),
    ],
)
def test_list_is_narrowed_by_namespace_and_labels(namespace: str, selector: str, names: list[str]) -> None:
    store = store_of(lease("a", "n1", app="x"), lease("b", "n1", app="y"), lease("c", "n2", app="x"))

    assert [obj["metadata"]["name"] for obj in Lister(store, LEASES, dict).list(namespace, selector)] == names


def test_malformed_selector_is_refused() -> None:
    with pytest.raises(ValueError, match="in"):
        Lister(store_of(), NODES).list(selector="a in in")


def test_by_index_reads_what_has_the_value() -> None:
    store = store_of(cached("a", 1), cached("b", 2))
    store.add_index("initial", lambda obj: [obj.name[0]])

    assert [view.metadata.name for view in Lister(store, NODES, Named).by_index("initial", "b")] == ["b"]
    assert Lister(store, NODES, Named).by_index("initial", "z") == []


@pytest.mark.parametrize("read", [Lister.by_index, Lister.keys_by_index])
def test_an_index_that_is_not_there_is_named(read: Callable[[Lister[Any], str, str], object]) -> None:
    with pytest.raises(UsageError, match=r"^nodes have no index 'unknown': add it before the manager starts, by"):
        read(Lister(store_of(cached("a", 1)), NODES, Named), "unknown", "z")


def test_object_that_a_class_cannot_hold_is_left_out_of_lists_and_raised_by_name() -> None:
    whole = cached_from_bytes(b'{"metadata":{"name":"whole"},"spec":{}}')
    lister = Lister(store_of(cached("half", 1), whole), NODES, Strict)

    assert [view.metadata.name for view in lister.list()] == ["whole"]
    with pytest.raises(DecodeError, match=r"^Node half: "):
        lister.get(ObjectKey("half"))


def test_class_that_cannot_match_is_refused_when_the_lister_is_made() -> None:
    with pytest.raises(ValueError, match="is not a model of Lease"):
        Lister(store_of(), LEASES, V1Node)


def test_lister_knows_how_far_it_has_come() -> None:
    store = store_of()
    lister = Lister(store, NODES)
    assert (lister.version, lister.behind("9"), lister.behind("10")) == ("9", False, True)
    assert not lister.wait_for("10", timeout=0.0)

    store.apply(added(cached("a", 10)))

    assert lister.wait_for("10", timeout=0.0)
