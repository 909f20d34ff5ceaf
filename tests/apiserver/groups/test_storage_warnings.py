# SPDX-License-Identifier: Apache-2.0
"""Warnings of volumes, claims and classes, in the words of a kube-apiserver of 1.36.2."""

from __future__ import annotations

import re
from typing import Any

import pytest
from kit.apiserver.asking import Asking

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
STORAGE = "/apis/storage.k8s.io/v1"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
ARCH, OS = "beta.kubernetes.io/arch", "beta.kubernetes.io/os"
OLD_NAME = 'deprecated since v1.8; use "storageClassName" attribute instead'
OLD_ARCH = 'deprecated since v1.14; use "kubernetes.io/arch" instead'
OLD_OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'
TERM = {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": OS, "operator": "Exists"}]}


def volume(*annotations: str, **spec: Any) -> dict[str, Any]:
    common = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return {"metadata": {"name": "w", "annotations": dict.fromkeys(annotations, "a")}, "spec": {**common, **spec}}


NFS = {"nfs": {"server": "s", "path": "/x"}}
OLD_CLAIM = {
    "metadata": {"name": "w", "annotations": {OLD_CLASS: "a"}},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1.5"}, "limits": {"storage": "2500m"}},
    },
}
CLASS = {
    "metadata": {"name": "w"},
    "provisioner": "p",
    "allowedTopologies": [
        {"matchLabelExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "values": ["a"]}]}
    ],
}
CAPACITY = {
    "metadata": {"name": "w"},
    "storageClassName": "p",
    "nodeTopology": {"matchLabels": {ARCH: "a"}, "matchExpressions": [{"key": OS, "operator": "Exists"}]},
}
RUNTIME = {"metadata": {"name": "w"}, "handler": "h", "scheduling": {"nodeSelector": {ARCH: "a"}}}


@pytest.mark.parametrize(
    ("path", "sent", "warnings"),
    [
        (VOLUMES, volume(**NFS), []),
        (
            VOLUMES,
            volume(OLD_CLASS, "volume.beta.kubernetes.io/mount-options", **NFS),
            [
                f"metadata.annotations[{OLD_CLASS}]: {OLD_NAME}",
                "metadata.annotations[volume.beta.kubernetes.io/mount-options]: "
                'deprecated since v1.31; use "mountOptions" attribute instead',
            ],
        ),
        (
            VOLUMES,
            volume(**NFS, persistentVolumeReclaimPolicy="Recycle"),
            [
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
                "recommended approach is to use dynamic provisioning."
            ],
        ),
        (
            VOLUMES,
            volume(**NFS, nodeAffinity={"required": {"nodeSelectorTerms": [TERM]}}),
            [f"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[1].key: {OS} is {OLD_OS}"],
        ),
        (
            VOLUMES,
            volume(storageos={"volumeName": "v", "volumeNamespace": "n"}),
            ["spec.storageOS: deprecated in v1.22, non-functional in v1.25+"],
        ),
        (VOLUMES, volume(cephfs={"monitors": ["a"]}), ["spec.cephfs: deprecated in v1.28, non-functional in v1.31+"]),
        (
            CLAIMS,
            OLD_CLAIM,
            [
                f"metadata.annotations[{OLD_CLASS}]: {OLD_NAME}",
                'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
                'spec.resources.limits[storage]: fractional byte value "2500m" is invalid, must be an integer',
            ],
        ),
        (
            f"{STORAGE}/storageclasses",
            CLASS,
            [
                "allowedTopologies[0].matchLabelExpressions[0].key: "
                'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
            ],
        ),
        (
            f"{STORAGE}/namespaces/default/csistoragecapacities",
            CAPACITY,
            [
                f"nodeTopology.matchExpressions[0].key: {OS} is {OLD_OS}",
                f"nodeTopology.matchLabels.{ARCH}: {OLD_ARCH}",
            ],
        ),
        ("/apis/node.k8s.io/v1/runtimeclasses", RUNTIME, [f"scheduling.nodeSelector: {OLD_ARCH}"]),
    ],
)
def test_writes_of_what_is_on_its_way_out_are_warned_of(
    path: str, sent: dict[str, Any], warnings: list[str], ask: Asking
) -> None:
    response = ask.response("POST", path, sent)

    assert response.status == 201
    told = re.findall(r'299 - "((?:\\.|[^"])*)"', response.headers.get("warning", ""))
    assert [one.replace('\\"', '"') for one in told] == warnings


def test_a_write_of_the_status_alone_is_not_warned_of(ask: Asking) -> None:
    made = ask.ok("POST", VOLUMES, volume(cephfs={"monitors": ["a"]}))
    made["status"] = {"phase": "Available"}

    assert "warning" not in ask.response("PUT", f"{VOLUMES}/w/status", made).headers
    assert "warning" in ask.response("PUT", f"{VOLUMES}/w", ask.ok("GET", f"{VOLUMES}/w")).headers
