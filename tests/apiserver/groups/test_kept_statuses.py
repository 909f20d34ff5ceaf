# SPDX-License-Identifier: Apache-2.0
"""Kinds whose status the server begins, and whose metadata a write of the status does not change."""

from __future__ import annotations

import pytest
from kit.apiserver.asking import Asking, Object

_ATTACHED = {"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
_READY = {
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "R",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
}
KINDS = pytest.mark.parametrize(
    ("collection", "spec", "first", "second"),
    [
        pytest.param(
            "/apis/networking.k8s.io/v1/servicecidrs", {"cidrs": ["10.200.0.0/24"]}, {}, _READY, id="ServiceCIDR"
        ),
        pytest.param(
            "/apis/storage.k8s.io/v1/volumeattachments",
            _ATTACHED,
            {"attached": False},
            {"attached": True},
            id="VolumeAttachment",
        ),
    ],
)


@KINDS
def test_a_new_object_has_the_status_of_the_server_whatever_was_sent(
    collection: str, spec: Object, first: Object, second: Object, ask: Asking
) -> None:
    made = ask.ok("POST", collection, {"metadata": {"name": "a"}, "spec": spec, "status": second})

    assert made["status"] == first


@KINDS
def test_a_write_of_the_status_changes_neither_labels_nor_finalizers_nor_the_spec(
    collection: str, spec: Object, first: Object, second: Object, ask: Asking
) -> None:
    made = ask.ok("POST", collection, {"metadata": {"name": "a", "labels": {"a": "b"}}, "spec": spec})
    sent = {**made, "metadata": {**made["metadata"], "labels": {"c": "d"}, "finalizers": ["example.com/f"]}}

    changed = ask.ok("PUT", f"{collection}/a/status", {**sent, "status": second})

    assert changed["status"] == second
    assert changed["spec"] == made["spec"]
    assert changed["metadata"]["labels"] == {"a": "b"}
    assert changed["metadata"].get("finalizers") == made["metadata"].get("finalizers")


@KINDS
def test_a_write_of_the_object_keeps_its_status(
    collection: str, spec: Object, first: Object, second: Object, ask: Asking
) -> None:
    made = ask.ok("POST", collection, {"metadata": {"name": "a"}, "spec": spec})
    ask.ok("PUT", f"{collection}/a/status", {**made, "status": second})
    current = ask.ok("GET", f"{collection}/a")

    changed = ask.ok("PUT", f"{collection}/a", {**current, "status": first})

    assert changed["status"] == second
