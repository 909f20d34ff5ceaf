# SPDX-License-Identifier: Apache-2.0
"""Decoding into views: the fields that each kind of class reads, and the classes that are refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, TypedDict

import attrs
import msgspec
import pytest
from kubernetes.client import V1Lease, V1Namespace, V1Node

from apimachinery.errors import DecodeError
from apimachinery.objects import ObjectMeta, OwnerReference
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import LEASES, NODES, PODS, Resource

NODE = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "n1", "uid": "u1", "resourceVersion": "7", "labels": {"zone": "a"}},
    "spec": {"providerID": "cloud://n1", "taints": [{"key": "k", "effect": "NoSchedule"}], "aFieldOf2030": {"x": 1}},
    "status": {"capacity": {"pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]},
}
RAW = json.dumps(NODE).encode()
WIDGETS: Resource[dict[str, Any]] = Resource("example.com", "v1", "Widget", "widgets")


class Taint(msgspec.Struct):
    key: str
    effect: str


class NodeSpec(msgspec.Struct):
    provider_id: str = msgspec.field(default="", name="providerID")
    taints: list[Taint] = []
    unschedulable: bool = False


class NodeStatus(msgspec.Struct):
    capacity: dict[str, str] = {}


class NodeView(msgspec.Struct):
    metadata: ObjectMeta
    spec: NodeSpec
    status: NodeStatus | None = None


class LeaseSpec(msgspec.Struct, rename="camel"):
    renew_time: datetime


class LeaseView(msgspec.Struct):
    spec: LeaseSpec


class OwnedMeta(msgspec.Struct, rename="camel"):
    owner_references: list[OwnerReference] = []


class OwnedView(msgspec.Struct):
    metadata: OwnedMeta


@attrs.define
class PlainSpec:
    providerID: str = ""  # noqa: N815


@attrs.define
class PlainView:
    spec: PlainSpec


@attrs.define
class MisspeltView:
    spek: str


def test_class_is_looked_at_once_however_often_it_is_asked_for() -> None:
    assert decoder_for(NodeView, NODES) is decoder_for(NodeView, NODES)
    assert decoder_for(None, WIDGETS) is decoder_for(dict, WIDGETS) is not decoder_for(dict, NODES)


def test_struct_reads_the_fields_it_declares() -> None:
    view = decoder_for(NodeView, NODES)(RAW)

    assert view.metadata.name == "n1"
    assert view.spec == NodeSpec("cloud://n1", [Taint("k", "NoSchedule")])
    assert view.status == NodeStatus({"pods": "110"})


def test_attrs_class_reads_wire_cased_fields() -> None:
    assert decoder_for(PlainView, NODES)(RAW) == PlainView(PlainSpec("cloud://n1"))


def test_dict_holds_the_whole_object() -> None:
    assert decoder_for(dict, NODES)(RAW) == NODE


def test_official_model_ignores_the_fields_of_a_newer_server() -> None:
    node = decoder_for(V1Node, NODES)(RAW)

    assert isinstance(node, V1Node)
    assert node.spec is not None
    assert node.spec.provider_id == "cloud://n1"


def test_no_view_means_the_resources_own_class() -> None:
    assert isinstance(decoder_for(None, NODES)(RAW), V1Node)
    assert decoder_for(None, WIDGETS)(RAW) == NODE


def test_times_are_read_as_aware_datetimes() -> None:
    view = decoder_for(LeaseView, LEASES)(b'{"spec":{"renewTime":"2026-01-02T03:04:05.678901Z"}}')

    assert view.spec.renew_time == datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)


def test_each_read_gives_an_object_of_its_own() -> None:
    decode = decoder_for(dict, NODES)

    decode(RAW)["metadata"]["labels"]["zone"] = "b"

    assert decode(RAW)["metadata"]["labels"] == {"zone": "a"}


def _refused(name: str, wire: str, kind: Any, **options: Any) -> Any:
    inner = msgspec.defstruct("Inner", [(name, kind, msgspec.field(default=None, name=wire))])
    return msgspec.defstruct("View", [(options.get("under", "spec"), inner)])


@pytest.mark.parametrize(
    ("view", "words"),
    [
        pytest.param(
            _refused("provider_id", "providerId", str),
            ["Inner.provider_id reads 'providerId'", "Node.spec", "did you mean 'providerID'?"],
            id="wrong capitals",
        ),
        pytest.param(
            _refused("resource_version", "resource_version", str, under="metadata"),
            ["Inner.resource_version", "Node.metadata", "did you mean 'resourceVersion'?"],
            id="forgot to rename",
        ),
        pytest.param(
            _refused("taints", "taints", list[msgspec.defstruct("T", [("keys", str)])]),
            ["T.keys", "Node.spec.taints[]", "did you mean 'key'?"],
            id="inside a list",
        ),
        pytest.param(
            _refused("taints", "taints", dict[str, str] | None),
            ["Node.spec.taints is of type array", "cannot be read as dict"],
            id="a map for a list",
        ),
        pytest.param(
            _refused("unschedulable", "unschedulable", list[str] | None),
            ["Node.spec.unschedulable is of type boolean", "list"],
            id="a list for a flag",
        ),
        pytest.param(
            _refused("labels", "labels", dict[str, list[int]], under="metadata"),
            ["Node.metadata.labels[…] is of type string"],
            id="inside a map",
        ),
        pytest.param(
            _refused("zebra", "zebra", str),
            ["Inner.zebra reads 'zebra', which Node.spec does not have"],
            id="nothing like it",
        ),
        pytest.param(
            TypedDict("D", {"spec": TypedDict("S", {"podCidr": str})}), ["S.podCidr", "'podCIDR'"], id="typed dict"
        ),
        pytest.param(MisspeltView, ["MisspeltView.spek", "'spec'"], id="attrs class"),
    ],
)
def test_field_that_no_object_has_is_refused_with_the_nearest_real_name(view: type, words: list[str]) -> None:
    with pytest.raises(ValueError, match="Node") as refusal:
        decoder_for(view, NODES)

    for word in words:
        assert word in str(refusal.value)


def test_fields_of_a_kind_without_a_schema_are_taken_on_trust() -> None:
    view = _refused("whatever", "whatEver", str)

    assert decoder_for(view, WIDGETS)(b'{"spec":{"whatEver":"x"}}').spec.whatever == "x"


@pytest.mark.parametrize(
    ("view", "resource"),
    [
        pytest.param(V1Namespace, NODES, id="namespace for node"),
        pytest.param(V1Node, PODS, id="node for pod"),
        pytest.param(complex, NODES, id="a class that JSON cannot fill"),
    ],
)
def test_class_of_something_else_is_refused(view: type, resource: Resource[Any]) -> None:
    with pytest.raises(ValueError, match=view.__name__):
        decoder_for(view, resource)


def test_embedded_owner_references_pass_the_check() -> None:
    assert decoder_for(OwnedView, PODS)(b'{"metadata":{}}').metadata.owner_references == []


@pytest.mark.parametrize("view", [NodeView, PlainView, V1Node])
def test_failure_to_decode_names_the_object(view: type) -> None:
    raw = b'{"metadata":{"name":"n1","namespace":"x"},"spec":{"providerID":5}}'

    with pytest.raises(DecodeError, match=r"^Node x/n1: .*\.?spec\.providerID"):
        decoder_for(view, NODES)(raw)


def test_model_of_the_kind_in_another_version_of_the_models_passes() -> None:
    assert decoder_for(V1Lease, LEASES)(b'{"metadata":{"name":"l"}}').metadata is not None


class Labelled(msgspec.Struct):
    metadata: ObjectMeta


@pytest.mark.parametrize("view", [dict, Labelled, V1Node])
def test_text_that_is_not_utf8_is_an_object_that_does_not_decode(view: type) -> None:
    raw = b'{"metadata":{"name":"n","labels":{"a":"\xff"}}}'

    with pytest.raises(DecodeError, match="n: "):
        decoder_for(view, NODES)(raw)


def test_an_object_nested_too_deep_does_not_decode() -> None:
    raw = b'{"metadata":{"name":"n"},"spec":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001

    with pytest.raises(DecodeError, match=r"depth|nested|recursion|overflow"):  # in the words of each Python
        decoder_for(dict, NODES)(raw)
