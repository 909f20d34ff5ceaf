# SPDX-License-Identifier: Apache-2.0
"""Rules of persistent volume claims, and of their change: volume and class may be set once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apimachinery.names import qualified_name_errors
from embedded_apiserver.causes import forbidden, invalid, not_supported
from embedded_apiserver.checks.basic import IMMUTABLE
from embedded_apiserver.checks.resources import is_native, quantity
from embedded_apiserver.groups.pods.claim_spec import claim_spec
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import difference

_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"  # the annotation that preceded `storageClassName`
_IMMUTABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_RESIZES = (
    *("ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible"),
    "NodeResizePending",
)
_ATTRIBUTES = "volumeAttributesClassName"


def claim_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a PersistentVolumeClaim.

    The spec of an unbound claim must not change, except that an unset volume or class may be set. A bound claim may
    also change its `volumeAttributesClassName`, and request more, or less if that is more than its capacity. A real
    API server allows more only if the storage class allows expansion; storage classes are not checked here.
    """
    before, after = part(old, "spec"), part(new, "spec")
    was, now = _class_of(old), _class_of(new)
    if before == after and was == now:
        return
    yield from claim_spec(after, "spec")
    fixed, made = {**before}, {**after}
    if not before.get("volumeName"):
        _take(fixed, after, "volumeName")
    yield from _class_change(before, after, was, now, made)
    if part(new, "status").get("phase") == "Bound":
        _take(made, before, _ATTRIBUTES)
        if requests := part(part(after, "resources"), "requests"):
            kept = {**requests, "storage": part(part(before, "resources"), "requests").get("storage")}
            made["resources"] = {**after["resources"], "requests": kept}
    if _compared(fixed) != _compared(made):
        lines = difference("PersistentVolumeClaimSpec", fixed, made)
        yield forbidden("spec", f"{_IMMUTABLE}\n{lines}")
    # A claim that asked for too much may ask for less, as long as that is more than it already has.
    asked, capacity = _size(after), part(part(old, "status"), "capacity").get("storage", "0")
    if asked < _size(before) and asked <= quantity(capacity):
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    if before.get("volumeMode") != (mode := after.get("volumeMode")):
        yield invalid("volumeMode", mode, IMMUTABLE)
    if part(old, "status").get("currentVolumeAttributesClassName") is not None:
        yield from _attributes_change(before.get(_ATTRIBUTES), after.get(_ATTRIBUTES))


def _class_of(claim: Object) -> str | None:
    found: str | None = part(claim["metadata"], "annotations").get(_OLD_CLASS)
    return found


def _class_change(
    before: Object, after: Object, was: str | None, now: str | None, made: dict[str, Any]
) -> Iterator[Cause]:
    """Return the cause of a changed annotation of the class; take its move into the spec out of `made`."""
    name, known = after.get("storageClassName"), before.get("storageClassName")
    if was is not None and known is None and name == was and now in (None, was):
        made.pop("storageClassName", None)
        return
    if (was or "") != (now or ""):
        yield invalid(f"metadata.annotations.{_OLD_CLASS}", now or "", IMMUTABLE)
    if name is not None and known is None and was in (None, name):
        made.pop("storageClassName")


def _attributes_change(before: str | None, after: str | None) -> Iterator[Cause]:
    if before == after or after:
        return
    what = "nil" if after is None else "empty string"
    text = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    yield forbidden(f"spec.{_ATTRIBUTES}", text)


def _take(target: dict[str, Any], source: Object, name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


def _size(spec: Object) -> Any:
    return quantity(part(part(spec, "resources"), "requests").get("storage", "0"))


def _compared(spec: Object) -> Object:
    """Return a spec with its amounts as numbers, so that `1Gi` equals `1024Mi`."""
    amounts = {
        (which, name): quantity(amount)
        for which in ("limits", "requests")
        for name, amount in part(part(spec, "resources"), which).items()
    }
    return {**{name: value for name, value in spec.items() if name != "resources"}, "amounts": amounts}


def claim_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a PersistentVolumeClaim's status."""
    status = part(new, "status")
    for name, text in (status.get("capacity") or {}).items():
        yield from _amount(text, f"status.capacity[{name}]")
    for name, word in (status.get("allocatedResourceStatuses") or {}).items():
        yield from _resource(name, "status.allocatedResourceStatuses")
        if word not in _RESIZES:
            yield not_supported("status.allocatedResourceStatuses", name, sorted(_RESIZES))
    for name, text in (status.get("allocatedResources") or {}).items():
        found = list(_resource(name, "status.allocatedResources"))
        yield from found or _amount(text, f"status.allocatedResources[{name}]")


def _amount(text: str, field: str) -> list[Cause]:
    value = quantity(text)
    return [invalid(field, int(value), "must be a valid resource quantity")] if value < 0 else []


def _resource(name: str, field: str) -> Iterator[Cause]:
    problems = qualified_name_errors(name)
    yield from (invalid(field, name, text) for text in problems)
    if not problems and is_native(name) and name != "storage":
        yield not_supported(field, name, ("storage",))
