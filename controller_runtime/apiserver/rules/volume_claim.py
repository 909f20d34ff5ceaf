# SPDX-License-Identifier: Apache-2.0
"""Rules of persistent volumes, and of claims: the fields they need, and the fields that may change later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from controller_runtime.api.names import subdomain_problems
from controller_runtime.api.quantities import parse_quantity
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.rules import Object, part
from controller_runtime.apiserver.rules.small_kinds import StatusRules
from controller_runtime.apiserver.rules.validation import forbidden, invalid, not_supported, required
from controller_runtime.apiserver.status import Cause

_ALONE = "ReadWriteOncePod"
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", _ALONE)
_VOLUME_MODES = ("Block", "Filesystem")
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"  # the annotation that preceded `storageClassName`
_IMMUTABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_CHANGED = "lastPhaseTransitionTime"
_SIZE = "spec.resources[storage]"


class ClaimRules(StatusRules):
    """Volume and storage class of a claim may be set once. A bound claim may ask for another amount of storage.

    A real server lets the amount grow only if the storage class allows that. Storage classes are not looked at here, so
    that each allows it.
    """

    def __init__(self) -> None:
        super().__init__({"phase": "Pending"})

    def on_create(self, obj: Object) -> Object:
        return _with_both_sources(super().on_create(obj))

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return made if subresource == "status" else _with_both_sources(made)

    def causes(self, obj: Object) -> Iterator[Cause]:
        spec = part(obj, "spec")
        yield from _mode_causes(spec.get("accessModes", ()))
        size = _requests(spec).get("storage")
        if size is None:
            yield required(_SIZE)
        elif parse_quantity(size) <= 0:
            yield invalid(_SIZE, size, "must be greater than zero")
        if storage_class := spec.get("storageClassName"):
            for text in subdomain_problems(storage_class):
                yield invalid("spec.storageClassName", storage_class, text)
        if (mode := spec.get("volumeMode")) not in (None, *_VOLUME_MODES):
            yield not_supported("spec.volumeMode", mode, _VOLUME_MODES)

    def causes_of_change(self, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        return () if subresource == "status" else super().causes_of_change(old, new, subresource)

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        before, after = part(old, "spec"), part(new, "spec")
        causes = []
        is_bound = part(new, "status").get("phase") == "Bound"
        if _fixed(before, old, is_bound) != _fixed(after, old, is_bound):
            causes.append(forbidden("spec", _IMMUTABLE))
        asked, had = _size(after), _size(before)
        capacity = part(part(old, "status"), "capacity").get("storage", "0")
        # A claim that asked for too much may ask for less, as long as that is more than it already has.
        if asked < had and asked <= parse_quantity(capacity):
            causes.append(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
        if before.get("volumeMode") != (mode := after.get("volumeMode")):
            causes.append(invalid("volumeMode", mode, "field is immutable"))
        return causes


class VolumeRules(StatusRules):
    """A new volume is Pending, and its status says when its phase changed last."""

    def __init__(self) -> None:
        super().__init__({"phase": "Pending"})

    def on_create(self, obj: Object) -> Object:
        made = super().on_create(obj)
        return {**made, "status": {**made["status"], _CHANGED: obj["metadata"]["creationTimestamp"]}}

    def dated(self, old: Object, new: Object, now: str) -> Object:
        before, after = part(old, "status"), part(new, "status")
        said = after.get(_CHANGED)
        if before.get("phase") != after.get("phase"):
            changed = now if said in (None, before.get(_CHANGED)) else said
        else:
            changed = said or before.get(_CHANGED)
        return new if changed in (None, said) else {**new, "status": {**after, _CHANGED: changed}}


def _with_both_sources(obj: Object) -> Object:
    """Return a claim with both names of its data source, unless the newer one names another namespace."""
    spec = part(obj, "spec")
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    if old and not new:
        return {**obj, "spec": {**spec, "dataSourceRef": old}}
    if new and not old and "namespace" not in new:
        return {**obj, "spec": {**spec, "dataSource": new}}
    return obj


def _mode_causes(modes: Sequence[str]) -> Iterator[Cause]:
    field = "spec.accessModes"
    if not modes:
        yield required(field, "at least 1 access mode is required")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(field, mode, _ACCESS_MODES)
    if _ALONE in modes and any(mode in _ACCESS_MODES and mode != _ALONE for mode in modes):
        yield forbidden(field, f"may not use {_ALONE} with other access modes")


def _requests(spec: Object) -> Mapping[str, str]:
    return part(part(spec, "resources"), "requests")


def _size(spec: Object) -> Decimal:
    return parse_quantity(_requests(spec).get("storage", "0"))


def _fixed(spec: Object, old: Object, is_bound: bool) -> Object:
    """Return the fields of `spec` that may not change in the claim `old`, in a form that can be compared.

    Quantities are compared as numbers, so that `1Gi` may become `1024Mi`.
    """
    fixed, before = {name: value for name, value in spec.items() if name != "resources"}, part(old, "spec")
    if not before.get("volumeName"):
        fixed.pop("volumeName", None)
    if "storageClassName" not in before:
        named = fixed.get("storageClassName")
        if named == part(old["metadata"], "annotations").get(_OLD_CLASS, named):
            fixed.pop("storageClassName", None)
    amounts = {
        (which, name): parse_quantity(amount)
        for which in ("limits", "requests")
        for name, amount in part(part(spec, "resources"), which).items()
    }
    if is_bound:
        fixed.pop("volumeAttributesClassName", None)
        amounts.pop(("requests", "storage"), None)
    return {**fixed, "amounts": amounts}
