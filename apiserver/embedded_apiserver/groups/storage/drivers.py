# SPDX-License-Identifier: Apache-2.0
"""The checks of the kinds of storage.k8s.io: classes, drivers and what they attach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apimachinery.names import qualified_name_errors, subdomain_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, not_supported, required, too_long
from embedded_apiserver.checks.basic import (
    IMMUTABLE,
    NOT_NEGATIVE,
    each,
    given_one_of,
    one_of,
    qualified_name,
    unchanged,
)
from embedded_apiserver.checks.resources import quantity
from embedded_apiserver.checks.selectors import label_selector
from embedded_apiserver.groups.pods.sources import driver_name
from embedded_apiserver.groups.storage.persistent_volumes import inline_volume
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_MOST_BYTES, _MOST_PARAMETERS = 256 * 1024, 512
_LONGEST_ERROR = 1024
_LONGEST_NODE_ID = 256
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 1 << 32  # seconds
_RECLAIMED = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES = ("Persistent", "Ephemeral")
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def storage_class(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a StorageClass."""
    yield from _provisioner(obj.get("provisioner", ""), "provisioner")
    yield from _parameters(obj.get("parameters") or {}, "parameters")
    yield from given_one_of(obj.get("reclaimPolicy"), _RECLAIMED, "reclaimPolicy")
    yield from one_of(obj.get("volumeBindingMode", ""), _BINDING_MODES, "volumeBindingMode")
    topologies = obj.get("allowedTopologies") or ()
    seen: list[Mapping[str, Any]] = [{} for _ in topologies]  # so that an empty term is always a repeated one
    for index, term in enumerate(topologies):
        place = f"allowedTopologies[{index}]"
        yield from _topology(term, place)
        values = {one.get("key", ""): set(one.get("values") or ()) for one in term.get("matchLabelExpressions") or ()}
        yield from (duplicate(f"{place}.matchLabelExpressions", "") for one in seen if one == values)
        seen.append(values)


def storage_class_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a StorageClass.

    Its parameters, provisioner, reclaim policy and volume binding mode must not change.
    """
    yield from storage_class(new)
    if (old.get("parameters") or {}) != (new.get("parameters") or {}):
        yield invalid("parameters", new.get("parameters"), IMMUTABLE)
    for name in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
        yield from unchanged(old.get(name), new.get(name), name)


def _topology(term: Object, place: str) -> Iterator[Cause]:
    seen: set[str] = set()
    expressions = term.get("matchLabelExpressions") or ()
    for index, one in enumerate(expressions):
        field, key = f"{place}.matchLabelExpressions[{index}]", one.get("key", "")
        values: Sequence[str] = one.get("values") or ()
        if not values:
            yield required(f"{field}.values")
        for number, value in enumerate(values):
            if value in values[:number]:
                yield duplicate(f"{field}.values[{number}]", value)
        yield from qualified_name(key, f"{field}.key")
        if key in seen:
            yield duplicate(f"{field}.key", key)
        seen.add(key)


def _provisioner(name: str, field: str) -> Iterator[Cause]:
    if not name:
        yield required(field)
    else:
        yield from each(qualified_name_errors, name.lower(), field)


def _parameters(given: Mapping[str, str], field: str, *, may_be_empty: bool = True) -> Iterator[Cause]:
    if len(given) > _MOST_PARAMETERS:
        yield too_long(field, _MOST_PARAMETERS)
        return
    if "" in given:
        yield invalid(field, "", "field can not be empty.")
    if _size(given) > _MOST_BYTES:
        yield too_long(field, _MOST_BYTES)
    if not given and not may_be_empty:
        yield required(field, "must contain at least one key/value pair")


def _size(texts: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in texts.items())


def attributes_class(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a VolumeAttributesClass."""
    yield from _provisioner(obj.get("driverName", ""), "driverName")
    yield from _parameters(obj.get("parameters") or {}, "parameters", may_be_empty=False)


def attributes_class_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a VolumeAttributesClass: it must not change."""
    if old.get("driverName") != new.get("driverName"):
        yield forbidden("driverName", "updates to driverName are forbidden.")
    if (old.get("parameters") or {}) != (new.get("parameters") or {}):
        yield forbidden("parameters", "updates to parameters are forbidden.")
    yield from attributes_class(new)


def attachment(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a VolumeAttachment, its status included."""
    spec, status = part(obj, "spec"), part(obj, "status")
    yield from driver_name(spec.get("attacher", ""), "spec.attacher")
    source = part(spec, "source")
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and name is None:
        yield required("spec.source", _ONE_SOURCE)
    elif inline is not None and name is not None:
        yield forbidden("spec.source", _ONE_SOURCE)
    elif name == "":
        yield required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    elif inline is not None:
        yield from inline_volume(inline, "spec.source.inlineVolumeSpec")
    yield from each(subdomain_errors, spec.get("nodeName", ""), "spec.nodeName")
    if _size(status.get("attachmentMetadata") or {}) > _MOST_BYTES:
        yield too_long("status.attachmentMetadata", _MOST_BYTES)
    for side in ("attachError", "detachError"):
        error = part(status, side)
        if len(error.get("message", "").encode()) > _LONGEST_ERROR:
            yield too_long(f"status.{side}.message", _MOST_BYTES)
        if (code := error.get("errorCode")) is not None and code < 0:
            yield invalid(f"status.{side}.errorCode", code, "must be between 0 and 2147483647, inclusive")
    if name is not None:
        yield from each(subdomain_errors, name, "spec.source.persistentVolumeName")


def attachment_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a VolumeAttachment: its spec must not change."""
    yield from attachment(new)
    if part(old, "spec") != part(new, "spec"):
        yield invalid("spec", shown("VolumeAttachmentSpec", new["spec"]), IMMUTABLE)


def csi_node(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a CSINode."""
    seen: set[str] = set()
    for index, driver in enumerate(part(obj, "spec").get("drivers") or ()):
        place, name = f"spec.drivers[{index}]", driver.get("name", "")
        yield from driver_name(name, f"{place}.name")
        node = driver.get("nodeID", "")
        if not node:
            yield required(f"{place}.nodeID")
        if len(node.encode()) > _LONGEST_NODE_ID:
            yield invalid(f"{place}.nodeID", node, f"must be {_LONGEST_NODE_ID} characters or less")
        if (count := part(driver, "allocatable").get("count")) is not None and count < 0:
            yield invalid(f"{place}.allocatable.count", count, NOT_NEGATIVE)
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        yield from _topology_keys(driver.get("topologyKeys") or (), place)


def _topology_keys(keys: Sequence[str], place: str) -> Iterator[Cause]:
    for index, key in enumerate(keys):
        if not key:
            yield required(place)
        if key in keys[:index]:
            yield duplicate(place, key)
        yield from qualified_name(key, place)


def csi_node_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a CSINode: of an existing driver, only the allocatable count may
    change.
    """
    yield from csi_node(new)
    for was in part(old, "spec").get("drivers") or ():
        for now in part(new, "spec").get("drivers") or ():
            if was["name"] == now.get("name") and _fixed(was) != _fixed(now):
                yield invalid("spec.drivers", shown("CSINodeDriver", _fixed(now)), IMMUTABLE)


def _fixed(driver: Object) -> Object:
    return {name: value for name, value in driver.items() if name != "allocatable"}


def csi_driver(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a CSIDriver."""
    spec = part(obj, "spec")
    if (policy := spec.get("fsGroupPolicy")) is not None:
        yield from one_of(policy, _GROUP_POLICIES, "spec.fsGroupPolicy")
    requests = spec.get("tokenRequests") or ()
    audiences: set[str] = set()
    for index, request in enumerate(requests):
        place, audience = f"spec.tokenRequests[{index}]", request.get("audience", "")
        if audience in audiences:
            yield duplicate(f"{place}.audience", audience)
            continue
        audiences.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < _SHORTEST_TOKEN:
            yield invalid(f"{place}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > _LONGEST_TOKEN:
            text = "may not specify a duration larger than 2^32 seconds"
            yield invalid(f"{place}.expirationSeconds", seconds, text)
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in _LIFECYCLES:
            yield not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLES)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        text = "must be greater than or equal to 10 seconds"
        yield invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, text)
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not requests:
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield invalid("spec.serviceAccountTokenInSecrets", in_secrets, text)


def csi_driver_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a CSIDriver."""
    yield from csi_driver(new)
    before, after = part(old, "spec"), part(new, "spec")
    yield from unchanged(before.get("attachRequired"), after.get("attachRequired"), "spec.attachedRequired")
    name = "volumeLifecycleModes"
    yield from unchanged(before.get(name), after.get(name), f"spec.{name}")


def csi_capacity(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a CSIStorageCapacity."""
    if (topology := obj.get("nodeTopology")) is not None:
        yield from label_selector(topology, "nodeTopology")
    yield from each(subdomain_errors, obj.get("storageClassName", ""), "storageClassName")
    if (capacity := obj.get("capacity")) is not None and quantity(capacity) < 0:
        yield invalid("capacity", capacity, NOT_NEGATIVE)


def csi_capacity_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a CSIStorageCapacity: topology and class must not change."""
    yield from csi_capacity(new)
    if old.get("nodeTopology") != new.get("nodeTopology"):
        yield invalid("nodeTopology", shown("*selector", new.get("nodeTopology")), IMMUTABLE)
    yield from unchanged(old.get("storageClassName"), new.get("storageClassName"), "storageClassName")
