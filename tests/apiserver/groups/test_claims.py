# SPDX-License-Identifier: Apache-2.0
"""Persistent volume claims: the fields that may change before and after a claim is bound."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def claim(size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    whole = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {"metadata": {"name": "c"}, "spec": whole}


def asking_for(size: str) -> dict[str, Any]:
    return {"spec": {"resources": {"requests": {"storage": size}}}}


@pytest.fixture
def bound(ask: Asking) -> Asking:
    """A server with a bound claim that asks for 2Gi and has 1Gi, of a class whose volumes may grow."""
    growing = {"metadata": {"name": "growing"}, "provisioner": "p", "allowVolumeExpansion": True}
    ask.ok("POST", "/apis/storage.k8s.io/v1/storageclasses", growing)
    ask.ok("POST", CLAIMS, claim("2Gi", volumeName="v", storageClassName="growing"))
    assert ask.patch(f"{CLAIMS}/c/status", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}})[0] == 200
    return ask


@pytest.mark.parametrize(
    ("size", "status"),
    [
        pytest.param("3Gi", 200, id="more"),
        pytest.param("2048Mi", 200, id="the same in other words"),
        pytest.param("1536Mi", 200, id="less, but more than there is"),
        pytest.param("1Gi", 422, id="what there is"),
        pytest.param("1", 422, id="less than there is"),
    ],
)
def test_a_bound_claim_may_ask_for(size: str, status: int, bound: Asking) -> None:
    assert bound.patch(f"{CLAIMS}/c", asking_for(size))[0] == status


def test_another_amount_of_a_bound_claim_does_not_change(bound: Asking) -> None:
    assert bound.patch(f"{CLAIMS}/c", {"spec": {"resources": {"limits": {"storage": "9Gi"}}}})[0] == 422


def test_a_bound_claim_may_change_its_attributes_class(bound: Asking) -> None:
    assert bound.patch(f"{CLAIMS}/c", {"spec": {"volumeAttributesClassName": "fast"}})[0] == 200


def test_a_pending_claim_keeps_its_attributes_class(ask: Asking) -> None:
    ask.ok("POST", CLAIMS, claim())

    assert ask.patch(f"{CLAIMS}/c", {"spec": {"volumeAttributesClassName": "fast"}})[0] == 422


def test_a_claim_without_a_class_gets_one_once(ask: Asking) -> None:
    ask.ok("POST", CLAIMS, claim())

    assert ask.patch(f"{CLAIMS}/c", {"spec": {"storageClassName": "slow"}})[0] == 200
    assert ask.patch(f"{CLAIMS}/c", {"spec": {"storageClassName": "fast"}})[0] == 422
    assert ask.patch(f"{CLAIMS}/c", {"spec": {"storageClassName": None}})[0] == 422


def test_a_class_given_in_the_old_annotation_is_the_only_one_to_get(ask: Asking) -> None:
    old = {"volume.beta.kubernetes.io/storage-class": "slow"}
    ask.ok("POST", CLAIMS, {**claim(), "metadata": {"name": "c", "annotations": old}})

    assert ask.patch(f"{CLAIMS}/c", {"spec": {"storageClassName": "fast"}})[0] == 422
    assert ask.patch(f"{CLAIMS}/c", {"spec": {"storageClassName": "slow"}})[0] == 200


@pytest.mark.parametrize("size", ["1e999", "1e1000", "1E", "0", "-1Gi"])
def test_no_amount_is_a_failure_of_the_server(size: str, ask: Asking) -> None:
    assert ask("POST", CLAIMS, claim(size))[0] in (201, 400, 422)
