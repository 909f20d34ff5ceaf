# SPDX-License-Identifier: Apache-2.0
"""The key of an object is read from any form of it."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes.client import V1Namespace, V1ObjectMeta, V1Pod

from apimachinery.errors import DecodeError
from apimachinery.objects import ObjectKey, ObjectMeta, PartialObjectMetadata, cached_from_bytes
from controller_runtime.crd import CustomResource, Struct, custom_resource


class Spec(Struct):
    size: int = 1


@custom_resource("example.com/v1")
class Thing(CustomResource):
    spec: Spec


@pytest.mark.parametrize(
    "obj",
    [
        Thing(Spec(), metadata=ObjectMeta(name="a", namespace="b")),
        V1Pod(metadata=V1ObjectMeta(name="a", namespace="b")),
        PartialObjectMetadata(ObjectMeta(name="a", namespace="b")),
        cached_from_bytes(b'{"metadata": {"name": "a", "namespace": "b"}}'),
        {"metadata": {"name": "a", "namespace": "b"}},
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_key_of_an_object_is_its_name_and_namespace(obj: Any) -> None:
    assert ObjectKey.of(obj) == ObjectKey("a", "b")


def test_an_object_of_no_namespace_has_an_empty_one() -> None:
    assert ObjectKey.of(V1Namespace(metadata=V1ObjectMeta(name="a"))) == ObjectKey("a")


def test_a_thing_without_metadata_has_no_key() -> None:
    with pytest.raises(DecodeError, match="no metadata"):
        ObjectKey.of({})
