# SPDX-License-Identifier: Apache-2.0
"""The columns of persistent volumes, of their claims, and of resource quotas."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.apiserver.reads.columns import AGE, NAME, Cell, Column, at, of, value_at
from controller_runtime.apiserver.rules.rules import Object

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


_STATUS = Column("Status", of(_phase), "The phase: whether volume and claim are bound.")
_STORAGE_CLASS = Column("StorageClass", of(_class), "The class of storage.")
_ATTRIBUTES = Column("VolumeAttributesClass", at("spec.volumeAttributesClassName", _UNSET), "The class of attributes.")
_MODE = Column("VolumeMode", at("spec.volumeMode", _UNSET), "File system or block device.", is_wide=True)

VOLUMES = (
    NAME,
    Column("Capacity", of(lambda volume: _size(volume, "spec.capacity")), "Its size."),
    Column("Access Modes", of(lambda volume: _modes(volume, "spec.accessModes")), "How it can be mounted."),
    Column("Reclaim Policy", at("spec.persistentVolumeReclaimPolicy", ""), "Its fate once its claim is deleted."),
    _STATUS,
    Column("Claim", of(_claim), "The claim that it belongs to."),
    _STORAGE_CLASS,
    _ATTRIBUTES,
    Column("Reason", at("status.reason", ""), "The reason of a failure."),
    AGE,
    _MODE,
)
"""The columns of persistent volumes."""

CLAIMS = (
    NAME,
    _STATUS,
    Column("Volume", at("spec.volumeName", ""), "The volume that it is bound to."),
    Column("Capacity", _if_bound(_size, "status.capacity"), "The size of that volume."),
    Column("Access Modes", _if_bound(_modes, "status.accessModes"), "How that volume can be mounted."),
    _STORAGE_CLASS,
    _ATTRIBUTES,
    AGE,
    _MODE,
)
"""The columns of persistent volume claims."""

QUOTAS = (
    NAME,
    Column("Request", _quotas(of_limits=False), "Used and allowed amounts of requests."),
    Column("Limit", _quotas(of_limits=True), "Used and allowed amounts of limits."),
    AGE,
)
"""The columns of resource quotas."""
