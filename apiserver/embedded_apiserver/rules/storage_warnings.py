# SPDX-License-Identifier: Apache-2.0
"""Warnings of volumes, claims and classes: what is stored as it is sent, and is on its way out of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.pod_warnings import FRACTIONS, OLD_LABELS, OLD_VOLUMES

_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_OLD_ANNOTATIONS: Mapping[str, str] = {
    _OLD_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_RECYCLE = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
    "Instead, the recommended approach is to use dynamic provisioning."
)
_OF_VOLUMES = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
_SPELT = {"storageos": "storageOS"}


def of_volume(obj: Object) -> Iterator[str]:
    """Yield the warnings of a persistent volume."""
    spec = part(obj, "spec")
    yield from _of_annotations(obj, *_OLD_ANNOTATIONS)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield _RECYCLE
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        yield from _of_expressions(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]")
    for name in _OF_VOLUMES:
        if spec.get(name) is not None:
            yield f"spec.{_SPELT.get(name, name)}: {OLD_VOLUMES[name]}"


def of_claim(obj: Object) -> Iterator[str]:
    """Yield the warnings of a claim."""
    yield from _of_annotations(obj, _OLD_CLASS)
    resources = part(obj, "spec").get("resources") or {}
    for side in ("requests", "limits"):
        text = (resources.get(side) or {}).get("storage")
        if text is not None and str(text).endswith(FRACTIONS):
            yield f'spec.resources.{side}[storage]: fractional byte value "{text}" is invalid, must be an integer'


def of_storage_class(obj: Object) -> Iterator[str]:
    """Yield the warnings of a storage class."""
    for index, topology in enumerate(obj.get("allowedTopologies") or ()):
        for place, one in enumerate(topology.get("matchLabelExpressions") or ()):
            if text := OLD_LABELS.get(one.get("key", "")):
                yield f"allowedTopologies[{index}].matchLabelExpressions[{place}].key: {text}"


def of_capacity(obj: Object) -> Iterator[str]:
    """Yield the warnings of the storage capacity of a topology."""
    topology = obj.get("nodeTopology") or {}
    yield from _of_expressions(topology, "nodeTopology")
    for name in topology.get("matchLabels") or ():
        if text := OLD_LABELS.get(name):
            yield f"nodeTopology.matchLabels.{name}: {text}"


def of_runtime_class(obj: Object) -> Iterator[str]:
    """Yield the warnings of a runtime class."""
    for name in (obj.get("scheduling") or {}).get("nodeSelector") or ():
        if text := OLD_LABELS.get(name):
            yield f"scheduling.nodeSelector: {text}"


def _of_annotations(obj: Object, *names: str) -> Iterator[str]:
    sent: Mapping[str, Any] = obj["metadata"].get("annotations") or {}
    for name in names:
        if name in sent:
            yield f"metadata.annotations[{name}]: {_OLD_ANNOTATIONS[name]}"


def _of_expressions(selector: Mapping[str, Any], place: str) -> Iterator[str]:
    for index, one in enumerate(selector.get("matchExpressions") or ()):
        if text := OLD_LABELS.get(one.get("key", "")):
            yield f"{place}.matchExpressions[{index}].key: {one['key']} is {text}"
