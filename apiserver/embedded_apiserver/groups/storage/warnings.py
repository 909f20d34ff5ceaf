# SPDX-License-Identifier: Apache-2.0
"""Warnings of fields of volumes and classes that are stored as they are sent, and on their way out of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.groups.pods.claim_warnings import OLD_ANNOTATIONS, of_annotations
from embedded_apiserver.groups.pods.pod_warnings import OLD_LABELS, OLD_VOLUMES
from embedded_apiserver.objects import Object, part

_RECYCLE = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
    "Instead, the recommended approach is to use dynamic provisioning."
)
_OF_VOLUMES = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
_SPELT = {"storageos": "storageOS"}


def of_volume(obj: Object) -> Iterator[str]:
    """Yield the warnings about a PersistentVolume."""
    spec = part(obj, "spec")
    yield from of_annotations(obj, *OLD_ANNOTATIONS)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield _RECYCLE
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        yield from _of_expressions(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]")
    for name in _OF_VOLUMES:
        if spec.get(name) is not None:
            yield f"spec.{_SPELT.get(name, name)}: {OLD_VOLUMES[name]}"


def of_storage_class(obj: Object) -> Iterator[str]:
    """Yield the warnings about a StorageClass."""
    for index, topology in enumerate(obj.get("allowedTopologies") or ()):
        for place, one in enumerate(topology.get("matchLabelExpressions") or ()):
            if text := OLD_LABELS.get(one.get("key", "")):
                yield f"allowedTopologies[{index}].matchLabelExpressions[{place}].key: {text}"


def of_capacity(obj: Object) -> Iterator[str]:
    """Yield the warnings about a CSIStorageCapacity."""
    topology = obj.get("nodeTopology") or {}
    yield from _of_expressions(topology, "nodeTopology")
    for name in topology.get("matchLabels") or ():
        if text := OLD_LABELS.get(name):
            yield f"nodeTopology.matchLabels.{name}: {text}"


def _of_expressions(selector: Mapping[str, Any], place: str) -> Iterator[str]:
    for index, one in enumerate(selector.get("matchExpressions") or ()):
        if text := OLD_LABELS.get(one.get("key", "")):
            yield f"{place}.matchExpressions[{index}].key: {one['key']} is {text}"
