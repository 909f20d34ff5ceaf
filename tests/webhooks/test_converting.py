# SPDX-License-Identifier: Apache-2.0
"""Lists are converted whole or not at all, and metadata stays what it is but for labels and annotations."""

from __future__ import annotations

import re
from typing import Any

import pytest
from kit.crd.cabins import Cabin, CabinSpec, CabinV1Alpha1, OldSpec
from kit.crd.conversions import cabins
from kit.webhooks.reviewing import answered, conversion_review, webhooks

from controller_runtime.crd import Conversion, CustomResource, Struct, converts, custom_resource
from controller_runtime.errors import ConnectionLost, UsageError
from controller_runtime.webhooks import Converts

OLD, NEW = "example.com/v1alpha1", "example.com/v1"


class OlderSpec(Struct):
    places: int


@custom_resource("example.com/v1alpha0", kind="Cabin")
class CabinV1Alpha0(CustomResource):
    spec: OlderSpec


@converts(CabinV1Alpha0, CabinV1Alpha1, keep="example.com/older")
def older(old: CabinV1Alpha0) -> CabinV1Alpha1:
    return CabinV1Alpha1(OldSpec(old.spec.places), metadata=old.metadata)


@older.back
def _(new: CabinV1Alpha1) -> CabinV1Alpha0:
    return CabinV1Alpha0(OlderSpec(new.spec.bunks), metadata=new.metadata)


def hut(name: str = "hut", bunks: Any = 3, version: str = OLD) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "kubectl"}],
        "labels": {"x": "y"},
    }
    return {"apiVersion": version, "kind": "Cabin", "metadata": metadata, "spec": {"bunks": bunks}}


@pytest.mark.scenario("WH-04")
def test_a_list_is_converted_and_metadata_that_the_class_does_not_know_is_kept() -> None:
    response = answered(webhooks(Converts(cabins)), "/convert", conversion_review(NEW, hut(), hut("other", 4)))

    assert response["result"] == {"status": "Success"}
    first, second = response["convertedObjects"]
    assert (first["apiVersion"], first["kind"], first["spec"]["beds"]) == (NEW, "Cabin", 3)
    assert first["metadata"] == hut()["metadata"]
    assert second["metadata"]["name"] == "other"


def test_the_round_trip_through_the_webhook_gives_the_same_object() -> None:
    served = webhooks(Converts(cabins))
    first = {**hut(version=NEW), "spec": {"beds": 3, "heating": "gas", "doors": [], "tags": {"a": "b"}}}

    there = answered(served, "/convert", conversion_review(OLD, first))["convertedObjects"][0]
    back = answered(served, "/convert", conversion_review(NEW, there))["convertedObjects"][0]

    assert there["spec"] == {"bunks": 3, "heated": True}
    assert back == first


def test_an_object_of_the_wanted_version_is_returned_as_it_is() -> None:
    response = answered(webhooks(Converts(cabins)), "/convert", conversion_review(OLD, hut(bunks="unread")))

    assert response["convertedObjects"] == [hut(bunks="unread")]


def test_versions_without_direct_functions_are_converted_through_another_one() -> None:
    oldest = {**hut(version="example.com/v1alpha0"), "spec": {"places": 5}}

    response = answered(webhooks(Converts(cabins, older)), "/convert", conversion_review(NEW, oldest))

    assert response["convertedObjects"][0]["spec"]["beds"] == 5


@pytest.mark.scenario("WH-05")
@pytest.mark.parametrize(
    ("second", "message"),
    [
        pytest.param(hut("b", 9), "default/b: nine bunks do not fit", id="a function refuses"),
        pytest.param(hut("b", "no"), "Expected `?int`?, got `?str`?", id="unreadable"),
        pytest.param(
            hut("b", 1, "example.com/v9"), "no conversion from example.com/v9 to example.com/v1", id="version"
        ),
        pytest.param({**hut("b"), "kind": "Lodge"}, "no conversion of Lodge in example.com is served here", id="kind"),
        pytest.param(3, "Expected `object`, got `int`", id="no object"),
    ],
)
def test_one_object_that_fails_fails_the_list_and_is_named(second: Any, message: str) -> None:
    response = answered(webhooks(Converts(cabins)), "/convert", conversion_review(NEW, hut(), second))

    assert "convertedObjects" not in response
    assert response["result"]["status"] == "Failure"
    assert re.search(message, response["result"]["message"])


@pytest.mark.parametrize(
    ("error", "told", "panics"),
    [
        pytest.param(KeyError("the password"), "KeyError", 1, id="a bug"),
        pytest.param(ConnectionLost("of the secret host"), "ConnectionLost", 0, id="an error of ours"),
    ],
)
def test_an_unexpected_error_fails_the_list_and_is_named_without_its_text(
    error: Exception, told: str, panics: int, caplog: pytest.LogCaptureFixture
) -> None:
    @converts(CabinV1Alpha1, Cabin)
    def broken(old: CabinV1Alpha1) -> Cabin:
        raise error

    broken.back(lambda new: CabinV1Alpha1(OldSpec(1), metadata=new.metadata))
    served = webhooks(Converts(broken))

    response = answered(served, "/convert", conversion_review(NEW, hut()))

    message = response["result"].pop("message")
    assert response == {"uid": response["uid"], "result": {"status": "Failure"}}
    shown = re.fullmatch(
        f"default/hut: the conversion of Cabin from {OLD} to {NEW} raised {told}; "
        "the webhook's log has the reason under id=([0-9a-f]{8})",
        message,
    )
    assert shown is not None
    assert shown[1] in caplog.text
    assert str(error) in caplog.text
    assert served.counters()["/convert"].panics == panics


def test_conversions_that_cannot_serve_all_versions_are_refused() -> None:
    one_way: Conversion[CabinV1Alpha1, Cabin] = converts(CabinV1Alpha1, Cabin)(
        lambda old: Cabin(CabinSpec(1), metadata=old.metadata)
    )

    with pytest.raises(UsageError, match="has no way back"):
        Converts(one_way)
    with pytest.raises(ValueError, match="give the conversions of one kind"):
        Converts()
    with pytest.raises(UsageError, match=r"Cabin in example\.com has conversions already"):
        webhooks(Converts(cabins), Converts(older))
