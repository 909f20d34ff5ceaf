# SPDX-License-Identifier: Apache-2.0
"""The effects of a write on custom resource definitions, and their checks and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from apimachinery.equality import same_json
from apimachinery.objects import timestamp
from embedded_apiserver.causes import invalid
from embedded_apiserver.custom.formats import is_known
from embedded_apiserver.custom.kinds import CLEANUP, is_true
from embedded_apiserver.custom.schema_structure import schemas_in
from embedded_apiserver.custom.spec_causes import approval_causes, spec_causes, stored_causes
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_PENDING = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"


def new(obj: Object) -> Object:
    """Return a new custom resource definition with its initial status: no accepted names, and the stored versions."""
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": _storage(obj)}
    return {**obj, "status": status}


def updated(old: Object, made: Object, subresource: str) -> Object:
    """Return an updated custom resource definition, with its storage version added to the stored versions unless only
    the status is written.
    """
    if subresource == "status":
        return made
    status = made["status"]
    stored = status.get("storedVersions", ())  # a client may clear them, and a real server lets it
    added = [name for name in _storage(made) if name not in stored]
    return {**made, "status": {**status, "storedVersions": [*stored, *added]}} if added else made


def is_other(old: Object, new: Object) -> bool:
    """Return whether the specs of two states of a custom resource definition differ."""
    return not same_json(part(new, "spec"), part(old, "spec"))


def terminating(obj: Object, now: datetime) -> Object:
    """Return a custom resource definition marked as terminating, with a finalizer.

    The server removes the finalizer once all custom objects are deleted.
    """
    finalizers = obj["metadata"].get("finalizers", ())
    if CLEANUP in finalizers:
        return obj
    held = {**obj, "metadata": {**obj["metadata"], "finalizers": [*finalizers, CLEANUP]}}
    return with_condition(held, "Terminating", "True", "InstanceDeletionPending", _PENDING, now)


def new_causes(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new custom resource definition."""
    name, spec = obj["metadata"]["name"], obj["spec"]
    wanted = f"{spec['names'].get('plural', '')}.{spec.get('group', '')}"
    text = 'must be spec.names.plural+"."+spec.group'
    if name != wanted:
        yield invalid("metadata.name", name, text)
    yield from _causes(obj)


def change_causes(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a custom resource definition."""
    yield from _causes(new)
    fixed = [("group",), ("names", "plural")]
    if is_true(old, "Established"):
        fixed = [("scope",), ("names", "kind"), *fixed]
    for path in fixed:
        if _at(old["spec"], path) != (after := _at(new["spec"], path)):
            yield invalid(f"spec.{'.'.join(path)}", after, "field is immutable")


def _causes(obj: Object) -> Iterator[Cause]:
    yield from spec_causes(obj["spec"])
    yield from stored_causes(obj)
    yield from approval_causes(obj)


def warnings(obj: Object, old: Object | None) -> list[str]:
    """Return the warnings about a custom resource definition, except those that `old` already caused."""
    if old is not None and not is_other(old, obj):
        return []
    known = set() if old is None else set(_warnings(old))
    return [warning for warning in _warnings(obj) if warning not in known]


def with_condition(obj: Object, type_: str, status: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """Return a custom resource definition with a condition. Its transition time is `now` if its status changes."""
    conditions = list(part(obj, "status").get("conditions") or ())
    said = {"type": type_, "status": status, "lastTransitionTime": timestamp(now), "reason": reason, "message": message}
    for index, one in enumerate(conditions):
        if one["type"] == type_:
            time = one["lastTransitionTime"] if one["status"] == status else said["lastTransitionTime"]
            conditions[index] = {**said, "lastTransitionTime": time}
            break
    else:
        conditions.append(said)
    return {**obj, "status": {**part(obj, "status"), "conditions": conditions}}


def _storage(obj: Object) -> list[str]:
    return [version["name"] for version in obj["spec"].get("versions", ()) if version["storage"]][:1]


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _warnings(obj: Object) -> list[str]:
    """Return the warnings about a definition, each once, in the order of the versions."""
    spec = part(obj, "spec")
    found: dict[str, None] = {}
    for version in spec.get("versions", ()):
        for schema in schemas_in(part(part(version, "schema"), "openAPIV3Schema")):
            if (format_ := schema.get("format")) and not is_known(schema.get("type", ""), format_):
                found[f'unrecognized format "{format_}"'] = None
    return list(found)
