# SPDX-License-Identifier: Apache-2.0
"""Volumes, and the classes and drivers that make them."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.storage import columns, drivers, persistent_volumes, strategy
from embedded_apiserver.groups.storage.warnings import of_capacity, of_storage_class, of_volume
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import ALL, Policy, changed, warned

VOLUME = Kind(
    group="",
    version="v1",
    kind="PersistentVolume",
    plural="persistentvolumes",
    namespaced=False,
    short_names=("pv",),
    subresources=("status",),
    deletes_with_object=True,
    policy=Policy(
        status={"phase": "Pending"},
        created=strategy.new_volume,
        dated=strategy.dated_volume,
        warnings=warned(of_volume),
    ),
    metadata="ww",
    checks=Checks(persistent_volumes.new_volume, persistent_volumes.volume_change),
    cells=columns.VOLUMES,
)

_storage = partial(Kind, group="storage.k8s.io", version="v1", namespaced=False)
CSI_DRIVER = _storage(
    kind="CSIDriver",
    plural="csidrivers",
    unconditional_update=False,
    deletes_with_object=True,
    policy=Policy(generation=changed("spec"), first_generation=0, warnings=strategy.driver_warnings),
    checks=Checks(drivers.csi_driver, drivers.csi_driver_change),
    cells=columns.DRIVERS,
)
CSI_NODE = _storage(
    kind="CSINode",
    plural="csinodes",
    unconditional_update=False,
    deletes_with_object=True,
    metadata="w",
    checks=Checks(drivers.csi_node, drivers.csi_node_change),
    cells=columns.DRIVERS_OF_NODES,
)
CSI_CAPACITY = _storage(
    kind="CSIStorageCapacity",
    plural="csistoragecapacities",
    namespaced=True,
    unconditional_update=False,
    policy=Policy(warnings=warned(of_capacity)),
    metadata="wu",
    checks=Checks(drivers.csi_capacity, drivers.csi_capacity_change),
)
STORAGE_CLASS = _storage(
    kind="StorageClass",
    plural="storageclasses",
    short_names=("sc",),
    deletes_with_object=True,
    policy=Policy(warnings=warned(of_storage_class)),
    metadata="wu",
    checks=Checks(drivers.storage_class, drivers.storage_class_change),
    cells=columns.CLASSES,
)
ATTACHMENT = _storage(
    kind="VolumeAttachment",
    plural="volumeattachments",
    subresources=("status",),
    unconditional_update=False,
    deletes_with_object=True,
    policy=Policy(status={"attached": False}, freezes=ALL),
    metadata="w",
    status_metadata="w",
    checks=Checks(drivers.attachment, drivers.attachment_change, drivers.attachment_change),
    cells=columns.ATTACHMENTS,
)
ATTRIBUTES_CLASS = _storage(
    kind="VolumeAttributesClass",
    plural="volumeattributesclasses",
    short_names=("vac",),
    deletes_with_object=True,
    metadata="uw",
    checks=Checks(drivers.attributes_class, drivers.attributes_class_change),
    cells=columns.ATTRIBUTES_CLASSES,
)
KINDS = (VOLUME, CSI_DRIVER, CSI_NODE, CSI_CAPACITY, STORAGE_CLASS, ATTACHMENT, ATTRIBUTES_CLASS)
