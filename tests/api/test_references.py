# SPDX-License-Identifier: Apache-2.0
"""References to objects, and the rules for owners."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from kubernetes.client import V1Node

from apimachinery.errors import AlreadyOwned
from apimachinery.models import model_of
from apimachinery.objects import AnyObject, cached_from_bytes
from controller_runtime.api.references import Reference, controller_of, reference_to, set_controller, set_owner
from controller_runtime.api.resources import NODES


def body(kind: str, name: str, namespace: str = "", api_version: str = "apps/v1") -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-{name}", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


NODE = body("Node", "n", api_version="v1")


class _Typed(msgspec.Struct):
    api_version: str
    kind: str
    metadata: dict[str, Any]


class _Bare(msgspec.Struct):
    metadata: dict[str, Any]


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(NODE, id="dict"),
        pytest.param(cached_from_bytes(json.dumps(NODE).encode()), id="cached"),
        pytest.param(model_of(V1Node, NODE), id="model"),
        pytest.param(_Typed("v1", "Node", NODE["metadata"]), id="view"),
    ],
)
def test_any_form_of_an_object_that_says_its_kind_can_be_referred_to(obj: AnyObject) -> None:
    assert reference_to(obj) == Reference(api_version="v1", kind="Node", name="n", uid="uid-n")


def test_an_object_that_does_not_say_its_kind_needs_its_collection() -> None:
    bare = _Bare(NODE["metadata"])

    assert reference_to(bare, NODES).kind == "Node"
    with pytest.raises(ValueError, match="n: the _Bare has no apiVersion and kind"):
        reference_to(bare)


def test_a_reference_on_the_wire_leaves_out_what_is_empty() -> None:
    pod = reference_to(body("Pod", "p", "ns", "v1"), field_path="spec.containers{web}")

    assert reference_to({**NODE, "metadata": {"name": "n"}}).body() == {"apiVersion": "v1", "kind": "Node", "name": "n"}
    assert pod.body() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "namespace": "ns",
        "uid": "uid-p",
        "fieldPath": "spec.containers{web}",
    }


@pytest.mark.scenario("OW-01")
def test_a_controller_is_set_and_set_again_in_its_place() -> None:
    """Setting a controller again, with another version or uid of the owner, updates the reference in place."""
    dependent = body("Pod", "p", "ns", "v1")
    set_owner(dependent, NODE)

    set_controller(dependent, body("Deployment", "d", "ns"))
    set_owner(dependent, body("Job", "j", "ns", "batch/v1"))
    anew = {**body("Deployment", "d", "ns", "apps/v2")}
    anew["metadata"]["uid"] = "anew"
    set_controller(dependent, anew)

    owners = dependent["metadata"]["ownerReferences"]
    assert [owner["kind"] for owner in owners] == ["Node", "Deployment", "Job"]
    assert owners[1] == {
        "apiVersion": "apps/v2",
        "kind": "Deployment",
        "name": "d",
        "uid": "anew",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert owners[0] == {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-n"}


@pytest.mark.scenario("OW-01")
def test_a_second_controller_is_refused_and_a_plain_owner_is_not() -> None:
    """An object with a controller refuses a second one and is left as it was. It may get more plain owners."""
    dependent = body("Pod", "p", "ns", "v1")
    set_controller(dependent, body("Deployment", "d", "ns"))

    with pytest.raises(
        AlreadyOwned, match=r"^p is managed by Deployment d already, so it cannot be managed by Deployment e$"
    ):
        set_controller(dependent, body("Deployment", "e", "ns"))
    set_owner(dependent, body("Deployment", "e", "ns"))

    controller = controller_of(dependent)
    assert controller is not None
    assert (controller.name, controller.uid) == ("d", "uid-d")
    assert len(dependent["metadata"]["ownerReferences"]) == 2


def test_a_plain_owner_that_becomes_the_controller_is_one_owner_and_stays_it() -> None:
    dependent = body("Pod", "p", "ns", "v1")
    owner = body("Deployment", "d", "ns")

    set_owner(dependent, owner)
    assert controller_of(dependent) is None
    set_controller(dependent, owner)
    set_owner(dependent, owner)

    assert len(dependent["metadata"]["ownerReferences"]) == 1
    assert controller_of(dependent) is not None


@pytest.mark.scenario("OW-01")
@pytest.mark.parametrize(
    ("dependent", "owner", "error"),
    [
        pytest.param(
            body("Pod", "p", "a"),
            body("Job", "j", "b"),
            "Job b/j cannot own p, which is in namespace 'a'",
            id="another",
        ),
        pytest.param(
            body("Node", "n"), body("Job", "j", "b"), "Job b/j cannot own n, which is in no namespace", id="none"
        ),
        pytest.param(body("Pod", "p", "a"), {**NODE, "metadata": {"name": "n"}}, "it has no uid yet", id="no uid"),
    ],
)
def test_an_owner_that_cannot_be_is_refused(dependent: dict[str, Any], owner: dict[str, Any], error: str) -> None:
    """An owner without a uid is refused; so is a namespaced one if the dependent is elsewhere or cluster-scoped."""
    for put in (set_owner, set_controller):
        with pytest.raises(ValueError, match=error):
            put(dependent, owner)

    assert "ownerReferences" not in dependent["metadata"]


@pytest.mark.scenario("OW-01")
def test_a_cluster_scoped_owner_may_own_in_any_namespace() -> None:
    """A cluster-scoped owner may own an object in any namespace, also one whose name is still to be generated."""
    dependent: dict[str, Any] = {"metadata": {"generateName": "p-", "namespace": "ns"}}

    set_controller(dependent, model_of(V1Node, NODE), NODES)

    assert dependent["metadata"]["ownerReferences"][0]["uid"] == "uid-n"
