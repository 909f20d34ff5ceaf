# SPDX-License-Identifier: Apache-2.0
"""Rules of persistent volumes and of claims."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import IMMUTABLE, label, needs, one_of, subdomain
from embedded_apiserver.checks.paths import no_backsteps
from embedded_apiserver.checks.resources import quantity
from embedded_apiserver.checks.selectors import node_selector
from embedded_apiserver.groups.pods import sources
from embedded_apiserver.groups.pods.claim_spec import VOLUME_MODES, access_modes
from embedded_apiserver.groups.pods.sources import VolumeSource, driver_name, only_source
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import difference, shown

_POLICIES = ("Delete", "Recycle", "Retain")
_NOT_INLINE = ("claimRef", "capacity")
_OPTIONS = "volume.beta.kubernetes.io/mount-options"
# The types whose annotation may have options for mounting; drivers' volumes have the field alone.
_MOUNTED = (
    *("gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs"),
    *("azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"),
)
_BETA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def volume(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a PersistentVolume, except in its metadata."""
    spec = part(obj, "spec")
    if not (modes := spec.get("accessModes")):
        yield required("spec.accessModes")
    yield from access_modes(modes or (), "spec.accessModes")
    yield from _capacity(spec.get("capacity") or {})
    policy, affinity = spec.get("persistentVolumeReclaimPolicy"), spec.get("nodeAffinity")
    if policy:
        yield from one_of(policy, _POLICIES, "spec.persistentVolumeReclaimPolicy")
    if affinity is not None:
        if (selector := affinity.get("required")) is not None:
            yield from node_selector(selector, "spec.nodeAffinity.required")
        else:
            yield required("spec.nodeAffinity.required", "must specify required node constraints")
    yield from _source(spec, obj["metadata"].get("name", ""))
    path = (spec.get("hostPath") or {}).get("path")
    if path is not None and posixpath.normpath(path or ".") == "/" and policy == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden("spec.persistentVolumeReclaimPolicy", text)
    if name := spec.get("storageClassName"):
        yield from subdomain(name, "spec.storageClassName")
    if (mode := spec.get("volumeMode")) is not None:
        yield from one_of(mode, VOLUME_MODES, "spec.volumeMode")
    if (name := spec.get("volumeAttributesClassName")) is not None:
        if name:
            yield from subdomain(name, "spec.volumeAttributesClassName")
        else:
            yield required("spec.volumeAttributesClassName", "an empty string is disallowed")
        if spec.get("csi") is None:
            yield required("spec.csi", "has to be specified when using volumeAttributesClassName")


def mount_options(obj: Object) -> Iterator[Cause]:
    """Return a validation error if a volume has an annotation for mount options, but a type that does not support them.

    As on a real API server, the field `mountOptions` is accepted for every type.
    """
    spec = part(obj, "spec")
    if _OPTIONS in (obj["metadata"].get("annotations") or {}) and all(spec.get(name) is None for name in _MOUNTED):
        yield forbidden(f"metadata.annotations.{_OPTIONS}", "may not specify mount options for this volume type")


def inline_volume(spec: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of the inline volume spec in a VolumeAttachment, which must have a `csi` source."""
    context = "in the context of inline volumes"
    yield from (
        forbidden(f"{place}.{name}", f"may not be specified {context}") for name in _NOT_INLINE if spec.get(name)
    )
    if spec.get("csi") is None:
        yield required(f"{place}.csi", f"has to be specified {context}")
    if not (modes := spec.get("accessModes")):
        yield required(f"{place}.accessModes")
    yield from access_modes(modes or (), f"{place}.accessModes")
    if (policy := spec.get("persistentVolumeReclaimPolicy")) and policy != "Retain":
        yield forbidden(f"{place}.persistentVolumeReclaimPolicy", f"may only be Retain {context}")
    if spec.get("nodeAffinity") is not None:
        yield forbidden(f"{place}.nodeAffinity", f"may not be specified {context}")
    yield from _source(spec, "", place)
    if spec.get("storageClassName"):
        yield forbidden(f"{place}.storageClassName", f"may not be specified {context}")
    if spec.get("volumeMode") not in (None, "Filesystem"):
        yield forbidden(f"{place}.volumeMode", f"may not specify volumeMode other than Filesystem {context}")


def _capacity(capacity: Object) -> Iterator[Cause]:
    if not capacity:
        yield required("spec.capacity")
    if set(capacity) != {"storage"}:
        yield not_supported("spec.capacity", shown("{}quantity", capacity), ("storage",))
    for name, text in capacity.items():
        value = quantity(text)
        if value < 0:
            yield invalid(f"spec.capacity[{name}]", int(value), "must be a valid resource quantity")
        if value <= 0:
            yield invalid(f"spec.capacity[{name}]", text, "must be greater than zero")


def _source(spec: Object, name: str, place: str = "spec") -> Iterator[Cause]:
    own = (*_BEFORE, VolumeSource("iscsi", sources.persistent_iscsi(name)), *_AFTER)
    yield from only_source(spec, place, own)
    given = [source.name for source in own if spec.get(source.name) is not None]
    if given[:1] == ["local"] and (place != "spec" or spec.get("nodeAffinity") is None):
        yield required(f"{place}.nodeAffinity", "Local volume requires node affinity")


def _local(source: Object, place: str) -> Iterator[Cause]:
    if path := source.get("path"):
        yield from no_backsteps(path, f"{place}.path")
    else:
        yield required(f"{place}.path")


def _with_secret(check: sources.Check, *names: str) -> sources.Check:
    def both(source: Object, place: str) -> Iterator[Cause]:
        yield from check(source, place)
        if source.get("secretRef") is not None:
            yield from needs(source["secretRef"], f"{place}.secretRef", *names)

    return both


def _glusterfs(source: Object, place: str) -> Iterator[Cause]:
    yield from needs(source, place, "endpoints", "path")
    if (namespace := source.get("endpointsNamespace")) == "":
        text = "if the endpointnamespace is set, it must be a valid namespace name"
        yield invalid(f"{place}.endpointsNamespace", namespace, text)
    elif namespace is not None:
        yield from label(namespace, f"{place}.endpointsNamespace")


def _azure_file(source: Object, place: str) -> Iterator[Cause]:
    yield from needs(source, place, "secretName", "shareName")
    if source.get("secretNamespace") == "":
        yield required(f"{place}.secretNamespace")


def _csi(source: Object, place: str) -> Iterator[Cause]:
    yield from driver_name(source.get("driver", ""), f"{place}.driver")
    yield from needs(source, place, "volumeHandle")
    for name in (
        *("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef"),
        "nodeExpandSecretRef",
    ):
        if (secret := source.get(name)) is None:
            continue
        for field, rule in (("name", subdomain), ("namespace", label)):
            if value := secret.get(field):
                yield from rule(value, f"{place}.{name}.{field}")
            else:
                yield required(f"{place}.{name}.{field}")


_BEFORE = (
    VolumeSource("hostPath", sources.host_path),
    VolumeSource("gcePersistentDisk", sources.disk("pdName"), place="persistentDisk"),
    VolumeSource("awsElasticBlockStore", sources.disk("volumeID")),
    VolumeSource("glusterfs", _glusterfs),
    VolumeSource("flocker", sources.flocker),
    VolumeSource("nfs", sources.nfs),
    VolumeSource("rbd", sources.fields("monitors", "image")),
    VolumeSource("quobyte", sources.quobyte),
    VolumeSource("cephfs", sources.fields("monitors"), other="cephFS"),
)
_AFTER = (
    VolumeSource("cinder", _with_secret(sources.fields("volumeID"), "name", "namespace")),
    VolumeSource("fc", sources.fibre_channel),
    VolumeSource("flexVolume", sources.flex, joins=True),
    VolumeSource("azureFile", _azure_file),
    VolumeSource("vsphereVolume", sources.fields("volumePath")),
    VolumeSource("photonPersistentDisk", sources.fields("pdID")),
    VolumeSource("portworxVolume", sources.fields("volumeID")),
    VolumeSource("azureDisk", sources.azure_disk),
    VolumeSource("scaleIO", sources.fields("gateway", "system", "volumeName")),
    VolumeSource("local", _local),
    VolumeSource("storageos", sources.storage_os("name", "namespace")),
    VolumeSource("csi", _csi),
)
_SOURCES = ("iscsi", *(source.name for source in (*_BEFORE, *_AFTER)))


def new_volume(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new PersistentVolume."""
    yield from volume(obj)
    yield from mount_options(obj)


def volume_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a PersistentVolume: source and volume mode must not change.

    A `csi` source without a `controllerExpandSecretRef` may get one.
    """
    has_changed = part(old, "spec") != part(new, "spec")
    found = list(volume(new)) if has_changed else []
    yield from (*found, *mount_options(new), *found)  # as often as on a real server
    if has_changed:
        yield from _change(old, new)


def _change(old: Object, new: Object) -> Iterator[Cause]:
    before, after = part(old, "spec"), part(new, "spec")
    was, now = ({name: spec[name] for name in _SOURCES if name in spec} for spec in (before, after))
    if was.get("csi") and now.get("csi") and was["csi"].get("controllerExpandSecretRef") is None:
        now["csi"] = {name: value for name, value in now["csi"].items() if name != "controllerExpandSecretRef"}
    if was != now:
        lines = difference("PersistentVolumeSource", was, now)
        yield forbidden(
            "spec.persistentvolumesource", f"spec.persistentvolumesource is immutable after creation\n{lines}"
        )
    if before.get("volumeMode") != (mode := after.get("volumeMode")):
        yield invalid("volumeMode", mode, IMMUTABLE)
    affinity, known = after.get("nodeAffinity"), before.get("nodeAffinity")
    if known is not None and affinity != known and affinity != _with_new_labels(known, affinity):
        text = f"{IMMUTABLE}, except for updating from beta label to GA"
        yield invalid("nodeAffinity", shown("*VolumeNodeAffinity", affinity), text)
    if before.get("volumeAttributesClassName") is not None and after.get("volumeAttributesClassName") is None:
        yield forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def _with_new_labels(before: Any, after: Any) -> Any:
    """Return an affinity with those keys of labels that are the new names of its own."""
    if isinstance(before, dict) and isinstance(after, dict):
        made = {name: _with_new_labels(value, after.get(name)) for name, value in before.items()}
        if "operator" in before and _BETA.get(before.get("key", "")) == after.get("key", ""):
            made["key"] = after["key"]
        return made
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [_with_new_labels(one, other) for one, other in zip(before, after, strict=True)]
    return before
