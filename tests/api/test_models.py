# SPDX-License-Identifier: Apache-2.0
"""Models of the official client are read and written alike, whichever generation of it is installed."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any, ClassVar

import kubernetes
import msgspec
import pytest
from kubernetes.client import V1JSONSchemaProps, V1Lease, V1LeaseSpec, V1ObjectMeta, V1Pod, V1Secret
from kubernetes.client import models as official_models

from apimachinery.errors import DecodeError, UsageError
from apimachinery.models import fields_of, is_model, json_of, model_decoder, model_of
from apimachinery.objects import ObjectKey, labels_of, meta
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.model_releases import why_missing
from controller_runtime.api.resources import LEASES, PODS, Resource

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "x",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"a": "b"},
        "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}],
        "priority": 0,
        "tolerations": [],
    },
    "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}]},
}
RENEWED = datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)


class V1Inner:
    """Part of a model of the older generation."""

    openapi_types: ClassVar[dict[str, str]] = {"at": "datetime", "share": "float", "is_last": "bool", "more": "V1Inner"}
    attribute_map: ClassVar[dict[str, str]] = {"at": "at", "share": "share", "is_last": "isLast", "more": "more"}

    def __init__(self, at: Any = None, share: Any = None, is_last: Any = None, more: Any = None, **_: Any) -> None:
        self.at, self.share, self.is_last, self.more = at, share, is_last, more


class V1Outer:
    """A model of the older generation, with the types that `openapi_types` writes in either way."""

    openapi_types: ClassVar[dict[str, str]] = {
        "lists": "dict(str, list[str])",
        "counts": "dict[str, int]",
        "parts": "list[V1Inner]",
        "free": "object",
    }
    attribute_map: ClassVar[dict[str, str]] = {"lists": "lists", "counts": "perZone", "parts": "parts", "free": "free"}

    def __init__(self, lists: Any = None, counts: Any = None, parts: Any = None, free: Any = None, **_: Any) -> None:
        self.lists, self.counts, self.parts, self.free = lists, counts, parts, free


OUTER: dict[str, Any] = {
    "lists": {"a": ["b", "c"]},
    "perZone": {"z": 3},
    "parts": [{"at": "2026-01-02T03:04:05.6Z", "share": 1, "isLast": False, "more": {"share": 0.5}}],
    "free": {"any": [1, None]},
}


def test_a_model_survives_the_way_there_and_back() -> None:
    pod = decoder_for(V1Pod, PODS)(msgspec.json.encode(POD))

    assert isinstance(pod, V1Pod)
    assert json_of(pod) == POD
    assert json_of(model_of(V1Pod, POD)) == POD
    assert (pod.metadata.labels, pod.spec.priority, pod.spec.tolerations) == ({"a": "b"}, 0, [])
    assert pod.status.conditions[0].last_transition_time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_model_of_the_older_generation_is_read_and_written_by_the_types_and_names_that_it_lists() -> None:
    made = model_of(V1Outer, OUTER)

    assert is_model(V1Outer)
    assert is_model(made)
    assert made.parts[0].at == RENEWED
    assert (made.parts[0].share, made.parts[0].is_last, made.parts[0].more.share) == (1, False, 0.5)
    assert fields_of(made)["parts"][0]["at"] == RENEWED
    assert json_of(made) == {**OUTER, "parts": [{**OUTER["parts"][0], "at": "2026-01-02T03:04:05.600000Z"}]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"perZone": {"z": "3"}}, r"^perZone\[z\]: expected int, got str$"),
        ({"perZone": {"z": True}}, r"^perZone\[z\]: expected int, got bool$"),
        ({"perZone": []}, "^perZone: expected an object, got list$"),
        ({"lists": {"a": [1]}}, r"^lists\[a\]\[0\]: expected str, got int$"),
        ({"lists": {"a": "b"}}, r"^lists\[a\]: expected a list, got str$"),
        ({"parts": [{"at": 5}]}, r"^parts\[0\]\.at: expected a time, got int$"),
        ({"parts": [{"at": "noon"}]}, r"^parts\[0\]\.at: Invalid isoformat string"),
        ({"parts": [{"more": {"isLast": 0}}]}, r"^parts\[0\]\.more\.isLast: expected bool, got int$"),
    ],
)
def test_json_that_does_not_fit_an_older_model_is_told_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_decoder(V1Outer)(msgspec.json.encode({**OUTER, **change}))


def test_a_null_is_an_absent_field_and_a_field_that_the_model_does_not_have_is_left_out() -> None:
    raw = {"metadata": {"name": "l", "labels": None}, "spec": {"holderIdentity": "a", "strategy": None, "newer": 1}}

    lease = decoder_for(None, LEASES)(msgspec.json.encode(raw))

    assert json_of(lease) == {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}


def test_a_model_without_a_field_that_it_needs_does_not_decode() -> None:
    with pytest.raises(DecodeError, match=r"^Pod x/p: .*spec\.?.*containers"):
        decoder_for(None, PODS)(b'{"metadata":{"name":"p","namespace":"x"},"spec":{}}')


def test_a_kind_that_contains_itself_is_read() -> None:
    schema = model_of(
        V1JSONSchemaProps, {"properties": {"a": {"items": {"type": "string"}}}, "x-kubernetes-int-or-string": True}
    )

    assert schema.properties["a"].items is not None
    assert json_of(schema)["x-kubernetes-int-or-string"] is True


def _refusal(model: type) -> ValueError | None:
    """The error of a model that has fields which every object needs."""
    try:
        model_of(model, {})
    except ValueError as error:
        return error
    return None


def test_every_model_of_the_installed_release_can_be_read() -> None:
    models = [getattr(official_models, name) for name in dir(official_models) if name[:1] == "V"]
    refusals = [str(error) for error in map(_refusal, filter(is_model, models)) if error is not None]

    assert len(models) > 500
    assert [text for text in refusals if "must not be" not in text and "required" not in text] == []


def test_metadata_and_labels_are_those_of_any_model() -> None:
    pod = V1Pod(metadata=V1ObjectMeta(name="p", namespace="x", labels={"a": "b"}))

    assert (ObjectKey.of(pod), meta(pod).labels, labels_of(pod)) == (ObjectKey("p", "x"), {"a": "b"}, {"a": "b"})


def test_times_stay_times_for_the_client_and_become_texts_for_json() -> None:
    lease = V1Lease(spec=V1LeaseSpec(renew_time=RENEWED))

    assert fields_of(lease) == {"spec": {"renewTime": RENEWED}}
    assert model_of(V1Lease, fields_of(lease)).spec.renew_time == RENEWED
    assert json_of(lease)["spec"]["renewTime"] == "2026-01-02T03:04:05.600000Z"


def test_a_model_that_was_read_can_be_changed_and_copied() -> None:
    secret = model_of(V1Secret, {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    other = copy.deepcopy(secret)
    other.metadata.name = "t"

    assert (secret.metadata.name, json_of(other)["metadata"]) == ("s", {"name": "t"})


def test_a_model_that_the_installed_release_lacks_is_told_with_a_way_without() -> None:
    made_up = Resource("example.com", "v1", "Widget", "widgets", True, "kubernetes.client:V1Widget")

    with pytest.raises(UsageError) as refused:
        decoder_for(None, made_up)

    assert str(refused.value) == (
        f"widgets.example.com: the official client {kubernetes.__version__} has no model V1Widget, nor is it known "
        "which release has; give `dict` as the view"
    )
    assert decoder_for(dict, made_up)(b'{"metadata":{"name":"w"}}') == {"metadata": {"name": "w"}}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("V1DeviceClass", "releases from 34 on have: pip install 'kubernetes>=34', or give `dict` as the view"),
        ("V1beta1ServiceCIDR", "only releases 31 to 36 have: give `dict` as the view"),
        ("V1alpha1Workload", "only release 35 has: give `dict` as the view"),
    ],
)
def test_the_releases_that_have_a_model_are_named_where_they_are_known(model: str, message: str) -> None:
    assert why_missing("x", model, "29.0.0") == f"x: the official client 29.0.0 has no model {model}; {message}"


def test_a_class_that_is_not_in_its_module_is_told() -> None:
    with pytest.raises(UsageError, match=r"^widgets\.example\.com: json has no class Widget$"):
        Resource("example.com", "v1", "Widget", "widgets", True, "json:Widget").default_view()
