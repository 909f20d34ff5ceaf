# SPDX-License-Identifier: Apache-2.0
"""Cells of volumes, and of the classes and drivers that make them."""

from __future__ import annotations

from embedded_apiserver.groups.pods.columns import OF_VOLUMES, modes, size
from embedded_apiserver.kinds.cells import (
    AGE,
    NAMED,
    NONE,
    Cells,
    at,
    count_of,
    default_of,
    of,
    value_at,
)
from embedded_apiserver.objects import Object


def _claim(volume: Object) -> str:
    claim = value_at(volume, "spec.claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _audiences(driver: Object) -> str:
    requests = value_at(driver, "spec.tokenRequests")
    return "<unset>" if requests is None else ",".join(one.get("audience", "") for one in requests)


VOLUMES: Cells = {
    **OF_VOLUMES,
    "Capacity": of(lambda volume: size(volume, "spec.capacity")),
    "Access Modes": of(lambda volume: modes(volume, "spec.accessModes")),
    "Reclaim Policy": at("spec.persistentVolumeReclaimPolicy", ""),
    "Claim": of(_claim),
    "Reason": at("status.reason", ""),
}
DRIVERS: Cells = {
    **NAMED,
    "AttachRequired": at("spec.attachRequired", True),
    "PodInfoOnMount": at("spec.podInfoOnMount", False),
    "StorageCapacity": at("spec.storageCapacity", False),
    "TokenRequests": of(_audiences),
    "RequiresRepublish": at("spec.requiresRepublish", False),
    "Modes": of(lambda obj: ",".join(value_at(obj, "spec.volumeLifecycleModes") or ()) or NONE),
}
DRIVERS_OF_NODES: Cells = {**NAMED, "Drivers": count_of("spec.drivers")}
CLASSES: Cells = {
    "Name": default_of("storageclass.kubernetes.io/is-default-class"),
    "Age": AGE,
    "Provisioner": at("provisioner", ""),
    "ReclaimPolicy": at("reclaimPolicy", "Delete"),
    "VolumeBindingMode": at("volumeBindingMode", "Immediate"),
    "AllowVolumeExpansion": at("allowVolumeExpansion", False),
}
ATTACHMENTS: Cells = {
    **NAMED,
    "Attacher": at("spec.attacher", ""),
    "PV": at("spec.source.persistentVolumeName", ""),
    "Node": at("spec.nodeName", ""),
    "Attached": at("status.attached", False),
}
ATTRIBUTES_CLASSES: Cells = {**NAMED, "DriverName": at("driverName", "")}
