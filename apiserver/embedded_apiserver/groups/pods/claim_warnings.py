# SPDX-License-Identifier: Apache-2.0
"""Warnings of claims, and of annotations of volumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.groups.pods.pod_warnings import FRACTIONS
from embedded_apiserver.objects import Object, part

_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
OLD_ANNOTATIONS: Mapping[str, str] = {
    _OLD_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}


def of_claim(obj: Object) -> Iterator[str]:
    """Yield the warnings about a PersistentVolumeClaim."""
    yield from of_annotations(obj, _OLD_CLASS)
    resources = part(obj, "spec").get("resources") or {}
    for side in ("requests", "limits"):
        text = (resources.get(side) or {}).get("storage")
        if text is not None and str(text).endswith(FRACTIONS):
            yield f'spec.resources.{side}[storage]: fractional byte value "{text}" is invalid, must be an integer'


def of_annotations(obj: Object, *names: str) -> Iterator[str]:
    """Yield a warning for each of the annotations `names` that an object has."""
    sent: Mapping[str, Any] = obj["metadata"].get("annotations") or {}
    for name in names:
        if name in sent:
            yield f"metadata.annotations[{name}]: {OLD_ANNOTATIONS[name]}"
