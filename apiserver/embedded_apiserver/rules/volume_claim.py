# SPDX-License-Identifier: Apache-2.0
"""Rules of persistent volumes and of claims: what the server adds."""

from __future__ import annotations

from datetime import datetime

from apimachinery.objects import timestamp
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.small_kinds import StatusRules
from embedded_apiserver.rules.storage_warnings import of_claim, of_volume

# The group and kind of the objects from which a claim can be filled; the older of its two fields is dropped otherwise.
_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_CHANGED = "lastPhaseTransitionTime"


class ClaimRules(StatusRules):
    """A new claim is pending, and its volume a file system."""

    def __init__(self) -> None:
        super().__init__({"phase": "Pending"})

    def on_create(self, obj: Object) -> Object:
        return _with_both_sources(super().on_create(obj), {})

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return made if subresource == "status" else _with_both_sources(made, old)

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        return list(of_claim(obj))


class VolumeRules(StatusRules):
    """A new volume is Pending, and its status says when its phase changed last."""

    def __init__(self) -> None:
        super().__init__({"phase": "Pending"})

    def on_create(self, obj: Object) -> Object:
        made = super().on_create(obj)
        return {**made, "status": {**made["status"], _CHANGED: obj["metadata"]["creationTimestamp"]}}

    def dated(self, old: Object, new: Object, now: datetime) -> Object:
        before, after = part(old, "status"), part(new, "status")
        said = after.get(_CHANGED)
        if before.get("phase") != after.get("phase"):
            changed = timestamp(now) if said in (None, before.get(_CHANGED)) else said
        else:
            changed = said or before.get(_CHANGED)
        return new if changed in (None, said) else {**new, "status": {**after, _CHANGED: changed}}

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        return list(of_volume(obj))


def _with_both_sources(obj: Object, before: Object) -> Object:
    """Return a claim with both names of its data source, unless the newer one names another namespace.

    A source in another namespace, and one of another than the two kinds under the older name alone, are dropped from a
    claim that had no source before.
    """
    spec, known = part(obj, "spec"), part(before, "spec")
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    if new and new.get("namespace") and not known.get("dataSourceRef"):
        new = None
    had_one = known.get("dataSource") or known.get("dataSourceRef")
    if old and not new and not had_one and (old.get("apiGroup") or "", old.get("kind")) not in _SOURCES:
        old = None
    if old and not new:
        new = old
    elif new and not old and not new.get("namespace"):
        old = {name: value for name, value in new.items() if name != "namespace"}
    sources = {name: value for name, value in (("dataSource", old), ("dataSourceRef", new)) if value is not None}
    if all(spec.get(name) is sources.get(name) for name in ("dataSource", "dataSourceRef")):
        return obj
    rest = {name: value for name, value in spec.items() if name not in ("dataSource", "dataSourceRef")}
    return {**obj, "spec": {**rest, **sources}}
