# SPDX-License-Identifier: Apache-2.0
"""Handlers map a change to requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apimachinery.errors import DecodeError
from apimachinery.objects import Cached, ObjectKey, cached_from_bytes
from controller_runtime.api.resources import NODES, Resource
from controller_runtime.cache.store import Delta
from controller_runtime.controller.handlers import enqueue_mapped, enqueue_object, enqueue_owner
from controller_runtime.controller.reconciler import Request

REPLICA_SETS: Resource[Any] = Resource("apps", "v1", "ReplicaSet", "replicasets")


def owner(name: str, kind: str = "ReplicaSet", api_version: str = "apps/v1", controller: bool = True) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid of {name}", "controller": controller}


def pod(*owners: dict[str, Any], labels: str = "") -> Cached:
    metadata = {"name": "pod", "namespace": "ns", "ownerReferences": owners, "labels": {"to": labels}}
    return cached_from_bytes(json.dumps({"metadata": metadata}).encode())


@pytest.mark.scenario("HN-01")
@pytest.mark.parametrize(
    "delta",
    [
        pytest.param(Delta(None, pod()), id="created"),
        pytest.param(Delta(pod(), pod()), id="changed"),
        pytest.param(Delta(pod(), None), id="deleted"),
    ],
)
def test_every_change_requests_its_object_once(delta: Delta) -> None:
    """Creation, change and deletion each cause one request for the object."""
    assert list(enqueue_object(delta)) == [ObjectKey("pod", "ns")]


@pytest.mark.scenario("HN-02")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(pod(owner("a")), pod(owner("a")), ["a"], id="same owner"),
        pytest.param(pod(owner("a")), pod(owner("b")), ["a", "b"], id="another owner"),
        pytest.param(None, pod(owner("a")), ["a"], id="created"),
        pytest.param(pod(owner("a")), None, ["a"], id="deleted"),
        pytest.param(None, pod(), [], id="no owner"),
        pytest.param(None, pod(owner("a", kind="Deployment")), [], id="another kind"),
        pytest.param(None, pod(owner("a", api_version="other/v1")), [], id="another group"),
        pytest.param(None, pod(owner("a", api_version="apps/v1beta1")), ["a"], id="another version"),
        pytest.param(None, pod(owner("a", api_version="a/b/c")), [], id="malformed version"),
        pytest.param(None, pod(owner("a", controller=False)), [], id="not its controller"),
    ],
)
def test_a_change_requests_the_owners_of_both_sides(
    old: Cached | None, new: Cached | None, expected: list[str]
) -> None:
    """An owner before or after the change is requested once; other owners are not."""
    requests = enqueue_owner(REPLICA_SETS)(Delta(old, new))

    assert list(requests) == [ObjectKey(name, "ns") for name in expected]


def test_owners_that_do_not_control_are_requested_when_asked_for() -> None:
    handler = enqueue_owner(REPLICA_SETS, only_controller=False)

    assert list(handler(Delta(None, pod(owner("a", controller=False))))) == [ObjectKey("a", "ns")]


def test_a_cluster_scoped_owner_is_requested_without_a_namespace() -> None:
    handler = enqueue_owner(NODES)

    assert list(handler(Delta(None, pod(owner("n", "Node", "v1"))))) == [ObjectKey("n")]


@pytest.mark.scenario("HN-04")
def test_a_mapping_sees_both_sides_and_its_repetitions_are_dropped() -> None:
    """The old and the new object are mapped; a request that both cause is made once, in order."""
    seen = []

    def names(cached: Cached) -> list[Request]:
        seen.append(cached)
        return [ObjectKey("both"), *map(ObjectKey, (cached.meta.labels or {})["to"].split(","))]

    old, new = pod(labels="a,b"), pod(labels="b,c")

    requests = enqueue_mapped(names)(Delta(old, new))

    assert list(requests) == [ObjectKey("both"), ObjectKey("a"), ObjectKey("b"), ObjectKey("c")]
    assert seen == [old, new]


BROKEN = cached_from_bytes(b'{"metadata":{"name":"pod","namespace":"ns","ownerReferences":7}}')


def test_a_state_before_that_cannot_be_read_leaves_the_one_after() -> None:
    assert list(enqueue_owner(REPLICA_SETS)(Delta(BROKEN, pod(owner("a"))))) == [ObjectKey("a", "ns")]
    assert list(enqueue_owner(REPLICA_SETS)(Delta(BROKEN, None))) == []


def test_an_object_that_cannot_be_read_requests_the_owners_before_and_fails() -> None:
    requests = iter(enqueue_owner(REPLICA_SETS)(Delta(pod(owner("a")), BROKEN)))

    assert next(requests) == ObjectKey("a", "ns")
    with pytest.raises(DecodeError):
        next(requests)


def test_the_core_group_is_written_without_a_slash() -> None:
    nodes = enqueue_owner(NODES)

    assert list(nodes(Delta(None, pod(owner("n", kind="Node", api_version="v1"))))) == [ObjectKey("n")]
    assert list(nodes(Delta(None, pod(owner("n", kind="Node", api_version="/v1"))))) == []
