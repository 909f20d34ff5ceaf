# SPDX-License-Identifier: Apache-2.0
"""The columns of persistent volumes, of their claims, and of resource quotas."""

from __future__ import annotations

from collections.abc import Callable

from embedded_apiserver.kinds.cells import AGE, NAME, Cell, Cells, at, of, value_at
from embedded_apiserver.objects import Object

_UNSET = "<unset>"
_CLASS = "volume.beta.kubernetes.io/storage-class"  # the annotation that preceded `storageClassName`
# In the order in which they are shown.
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _size(obj: Object, path: str) -> str:
    return str((value_at(obj, path) or {}).get("storage", 0))


def _modes(obj: Object, path: str) -> str:
    found = value_at(obj, path) or ()
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _phase(obj: Object) -> str:
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else value_at(obj, "status.phase") or ""


def _class(obj: Object) -> str:
    return (obj["metadata"].get("annotations") or {}).get(_CLASS) or value_at(obj, "spec.storageClassName") or ""


def _claim(volume: Object) -> str:
    claim = value_at(volume, "spec.claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _if_bound(read: Callable[[Object, str], str], path: str) -> Cell:
    return of(lambda claim: read(claim, path) if value_at(claim, "spec.volumeName") else "")


def _quotas(*, of_limits: bool) -> Cell:
    """Return a cell with used and allowed amounts of resources: either those of limits or all others."""

    def text(quota: Object) -> str:
        hard, used = (value_at(quota, f"status.{name}") or {} for name in ("hard", "used"))
        names = [name for name in sorted(hard) if name.startswith("limits.") == of_limits]
        return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)

    return of(text)


_SHARED: Cells = {
    "Name": NAME,
    "Age": AGE,
    "Status": of(_phase),
    "StorageClass": of(_class),
    "VolumeAttributesClass": at("spec.volumeAttributesClassName", _UNSET),
    "VolumeMode": at("spec.volumeMode", _UNSET),
}
VOLUMES: Cells = {
    **_SHARED,
    "Capacity": of(lambda volume: _size(volume, "spec.capacity")),
    "Access Modes": of(lambda volume: _modes(volume, "spec.accessModes")),
    "Reclaim Policy": at("spec.persistentVolumeReclaimPolicy", ""),
    "Claim": of(_claim),
    "Reason": at("status.reason", ""),
}
"""The cells of persistent volumes."""

CLAIMS: Cells = {
    **_SHARED,
    "Volume": at("spec.volumeName", ""),
    "Capacity": _if_bound(_size, "status.capacity"),
    "Access Modes": _if_bound(_modes, "status.accessModes"),
}
"""The cells of persistent volume claims."""

QUOTAS: Cells = {
    "Name": NAME,
    "Request": _quotas(of_limits=False),
    "Limit": _quotas(of_limits=True),
    "Age": AGE,
}
"""The cells of resource quotas."""
