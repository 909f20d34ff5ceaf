# SPDX-License-Identifier: Apache-2.0
"""Finalizers, on the embedded server."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
import pytest

from apimachinery.errors import Conflict, ConnectionLost, NotFound
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, cached_from_bytes, meta
from controller_runtime.api.resources import LEASES
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Store
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.finalizers import Finalizers, add_finalizers, remove_finalizers
from controller_runtime.testing import RecordingTransport
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

A, B, C, OTHER = "example.com/a", "example.com/b", "example.com/c", "example.com/other"
LEASE = ObjectKey("l", "default")


@pytest.fixture
def transport(sim: Simulation) -> RecordingTransport:
    host = sim.host("r0")
    return RecordingTransport(InProcessTransport(host, APIServer(host)))


@pytest.fixture
def client(sim: Simulation, transport: RecordingTransport) -> Client:
    return Client(sim.host("r1"), transport)


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def finalizers(client: Client, calls: list[str]) -> Finalizers[Any]:
    """Return two finalizers, registered against the order of their names."""
    return (
        Finalizers[Any](client, LEASES)
        .register(B, lambda obj: calls.append(f"{B} {meta(obj).name}"))
        .register(A, lambda obj: calls.append(f"{A} {meta(obj).name}"))
    )


def lease(client: Client, *finalizers: str) -> Cached:
    return client.create(LEASES, {"metadata": {"name": "l", "finalizers": [*finalizers]}}, "default")


def deleted(client: Client, *finalizers: str) -> dict[str, Any]:
    """Create a lease with these finalizers, delete it, and return it."""
    lease(client, *finalizers)
    client.delete(LEASES, LEASE)
    return now(client)


def now(client: Client) -> dict[str, Any]:
    return client.get(LEASES, LEASE, dict)


def held_by(client: Client) -> list[str]:
    return now(client)["metadata"].get("finalizers", [])


@pytest.mark.scenario("FN-01")
@pytest.mark.parametrize(
    ("name", "error"),
    [
        pytest.param(A, "finalizer example.com/a is registered already", id="twice"),
        pytest.param("a b", "finalizer 'a b': name part", id="no name"),
    ],
)
def test_a_finalizer_is_registered_once(finalizers: Finalizers[Any], name: str, error: str) -> None:
    """A name that is registered already is refused, and so is one that a server would refuse."""
    with pytest.raises(ValueError, match=error):
        finalizers.register(name, lambda obj: None)


@pytest.mark.scenario("FN-01")
def test_an_object_that_lives_is_marked_in_one_patch(
    client: Client, transport: RecordingTransport, finalizers: Finalizers[Any], calls: list[str]
) -> None:
    """An object that is not being deleted gets the finalizers in the order of registration, after those of others."""
    lease(client, OTHER)

    assert finalizers.handle(now(client)) is False
    assert finalizers.handle(now(client)) is False

    assert held_by(client) == [OTHER, B, A]
    assert [request.method for request in transport.writes()] == ["POST", "PATCH"]
    assert calls == []


@pytest.mark.scenario("FN-01")
def test_an_object_that_is_being_deleted_is_finalized_and_let_go(
    client: Client, transport: RecordingTransport, finalizers: Finalizers[Any], calls: list[str]
) -> None:
    """Every function is called in the order of registration; one patch removes all finalizers, so the object goes."""
    obj = deleted(client, A, B)

    assert finalizers.handle(obj) is True

    assert calls == [f"{B} l", f"{A} l"]
    assert [request.method for request in transport.writes()] == ["POST", "DELETE", "PATCH"]
    with pytest.raises(NotFound):
        now(client)


@pytest.mark.scenario("FN-01")
def test_a_deleted_object_without_the_finalizers_is_left_alone(
    client: Client, transport: RecordingTransport, finalizers: Finalizers[Any], calls: list[str]
) -> None:
    """An object that is being deleted and has only finalizers of others is left alone."""
    obj = deleted(client, OTHER)

    assert finalizers.handle(obj) is True

    assert calls == []
    assert [request.method for request in transport.writes()] == ["POST", "DELETE"]


@pytest.mark.scenario("FN-01")
def test_a_finalizer_that_fails_holds_the_object_and_not_the_others(
    client: Client, finalizers: Finalizers[Any], calls: list[str]
) -> None:
    """A single failure is raised as it is; the other functions have run, and only the failed finalizer is left."""

    def fail(obj: object) -> None:
        raise ConnectionLost("no storage")

    other = Finalizers[Any](client, LEASES).register(C, fail)
    other.register(A, lambda obj: calls.append(A))
    obj = deleted(client, A, C, OTHER)

    with pytest.raises(ConnectionLost, match="no storage"):
        other.handle(obj)

    assert calls == [A]
    assert held_by(client) == [C, OTHER]


@pytest.mark.scenario("FN-01")
def test_several_failures_are_raised_together(client: Client, calls: list[str]) -> None:
    """Several failures are raised as one group, with the error of removing the other finalizers."""

    def fail(obj: object) -> None:
        raise ConnectionLost(f"failure {len(calls)}")

    several = Finalizers[Any](client, LEASES).register(A, fail).register(B, lambda obj: calls.append(B))
    several.register(C, fail)
    stale = deleted(client, A, B, C)
    client.patch(LEASES, LEASE, {"metadata": {"labels": {"a": "b"}}})

    with pytest.raises(ExceptionGroup, match=r"leases.coordination.k8s.io l: finalizers failed") as raised:
        several.handle(stale)

    assert [type(error) for error in raised.value.exceptions] == [ConnectionLost, ConnectionLost, Conflict]
    assert held_by(client) == [A, B, C]


@pytest.mark.parametrize("edit", [add_finalizers, remove_finalizers])
def test_an_edit_of_a_stale_object_loses_nobodys_mark(client: Client, edit: Any) -> None:
    lease(client, OTHER)
    stale = now(client)
    client.patch(LEASES, LEASE, {"metadata": {"finalizers": [OTHER, B]}})

    with pytest.raises(Conflict):
        edit(client, LEASES, stale, [A, OTHER])

    assert held_by(client) == [OTHER, B]


def test_marks_are_added_and_removed_once(client: Client) -> None:
    made = lease(client)

    marked = add_finalizers(client, LEASES, made, [A, B, A])
    assert marked is not None
    assert marked.meta.finalizers == [A, B]
    assert add_finalizers(client, LEASES, marked, [B]) is None

    freed = remove_finalizers(client, LEASES, marked, [A, C])
    assert freed is not None
    assert freed.meta.finalizers == [B]
    assert remove_finalizers(client, LEASES, freed, [A]) is None


def test_removing_from_an_object_that_is_gone_is_done_already(client: Client) -> None:
    obj = deleted(client, A)
    remove_finalizers(client, LEASES, obj, [A])

    assert remove_finalizers(client, LEASES, obj, [A]) is None


class Holder(msgspec.Struct, frozen=True):
    holderIdentity: Literal["a", "b"] = "a"  # noqa: N815  the API's name


class Strict(msgspec.Struct):
    """A view that cannot hold every lease."""

    metadata: ObjectMeta
    spec: Holder = Holder()


@pytest.fixture
def strict(sim: Simulation, client: Client) -> Lister[Strict]:
    """Return a lister of the leases; `fill` brings it up to date."""
    return Lister(Store(sim.host("r2")), LEASES, Strict)


def fill(lister: Lister[Strict], client: Client) -> None:
    found = [cached_from_bytes(json.dumps(each).encode()) for each in client.list(LEASES, view=dict)]
    lister._reads.store.replace(
        {each.plain_key: each for each in found}, f"{len(found) + int(lister.version or 0) + 1}"
    )


def broken(client: Client, *finalizers: str, deleted: bool = True) -> None:
    """Create a lease that cannot be read as `Strict`, and delete it."""
    body = {"metadata": {"name": "l", "finalizers": [*finalizers]}, "spec": {"holderIdentity": "c"}}
    client.create(LEASES, body, "default")
    if deleted:
        client.delete(LEASES, LEASE)


def test_get_returns_an_object_with_its_finalizers_and_finalizes_a_deleted_one(
    client: Client, strict: Lister[Strict], calls: list[str]
) -> None:
    finalizers = Finalizers(client, LEASES, Strict).register(A, lambda obj: calls.append(obj.spec.holderIdentity))
    assert finalizers.get(strict, LEASE) is None
    lease(client)
    fill(strict, client)

    found = finalizers.get(strict, LEASE)

    assert found is not None
    assert held_by(client) == [A]
    client.delete(LEASES, LEASE)
    fill(strict, client)
    assert finalizers.get(strict, LEASE) is None
    assert calls == ["a"]
    with pytest.raises(NotFound):
        now(client)


@pytest.mark.scenario("FN-01")
def test_an_unreadable_object_is_finalized_by_its_metadata(
    client: Client, strict: Lister[Strict], calls: list[str]
) -> None:
    """A function that needs no more is called, and the object goes."""
    finalizers = Finalizers(client, LEASES, Strict)
    finalizers.register_for_metadata(A, lambda obj: calls.append(f"{obj.metadata.namespace}/{obj.metadata.name}"))
    broken(client, A)
    fill(strict, client)

    assert finalizers.get(strict, LEASE) is None

    assert calls == ["default/l"]
    with pytest.raises(NotFound):
        now(client)


def test_a_function_for_metadata_is_called_for_readable_objects_too(client: Client, calls: list[str]) -> None:
    finalizers = Finalizers[Any](client, LEASES)
    finalizers.register_for_metadata(A, lambda obj: calls.append(obj.metadata.name))

    assert finalizers.handle(deleted(client, A)) is True

    assert calls == ["l"]
    with pytest.raises(NotFound):
        now(client)


def test_a_function_that_needs_the_whole_object_holds_an_unreadable_one_and_the_error_says_how_to_mend_it(
    client: Client, strict: Lister[Strict], calls: list[str]
) -> None:
    finalizers = Finalizers(client, LEASES, Strict).register(A, lambda obj: calls.append(A))
    finalizers.register_for_metadata(B, lambda obj: calls.append(B))
    broken(client, A, B)
    fill(strict, client)

    with pytest.raises(UnreadableObject, match=rf"^Lease default/l: Invalid enum.*{A} needs the whole object: mend"):
        finalizers.get(strict, LEASE)

    assert calls == [B]
    assert held_by(client) == [A]


def test_an_unreadable_object_that_is_not_being_deleted_is_left_alone(
    client: Client, transport: RecordingTransport, strict: Lister[Strict], calls: list[str]
) -> None:
    finalizers = Finalizers(client, LEASES, Strict)
    finalizers.register_for_metadata(A, lambda obj: calls.append(A))
    broken(client, deleted=False)
    fill(strict, client)

    with pytest.raises(UnreadableObject, match="Lease default/l"):
        finalizers.get(strict, LEASE)

    assert [request.method for request in transport.writes()] == ["POST"]
    assert calls == []


def test_an_unreadable_object_with_finalizers_of_others_alone_is_left_alone(
    client: Client, strict: Lister[Strict], finalizers: Finalizers[Any], calls: list[str]
) -> None:
    broken(client, OTHER)
    fill(strict, client)

    assert finalizers.get(strict, LEASE) is None
    assert (calls, held_by(client)) == ([], [OTHER])
