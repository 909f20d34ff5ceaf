# SPDX-License-Identifier: Apache-2.0
"""Rules of custom resource definitions: defaults, generations, immutable fields, the finalizer and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from apimachinery.equality import same_json
from apimachinery.objects import timestamp
from embedded_apiserver.causes import invalid
from embedded_apiserver.kinds.custom import CLEANUP, is_true
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part, with_status_of
from embedded_apiserver.rules.definitions.formats import is_known
from embedded_apiserver.rules.definitions.schema_structure import schemas_in
from embedded_apiserver.rules.definitions.spec_causes import approval_causes, spec_causes, stored_causes
from embedded_apiserver.rules.rules import Rules
from embedded_apiserver.status import Cause

_PENDING = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"


class DefinitionRules(Rules):
    """A definition names a kind. Its status, written by the server, has the accepted names and the stored versions."""

    def on_create(self, obj: Object) -> Object:
        status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": _storage(obj)}
        return {**obj, "metadata": {**obj["metadata"], "generation": 1}, "status": status}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        if subresource == "status":
            return {**old, "metadata": new["metadata"], "status": part(new, "status")}
        made = with_status_of(old, new)
        status, metadata = made["status"], made["metadata"]
        stored = status.get("storedVersions", ())  # a client may clear them, and a real server lets it
        added = [name for name in _storage(made) if name not in stored]
        if added:
            status = {**status, "storedVersions": [*stored, *added]}
        if not same_json(made["spec"], old["spec"]):
            metadata = {**metadata, "generation": metadata.get("generation", 0) + 1}
        return {**made, "metadata": metadata, "status": status}

    def on_delete(self, obj: Object, now: datetime) -> Object:
        """Return the definition with a finalizer, which the server removes once all objects of the kind are gone."""
        finalizers = obj["metadata"].get("finalizers", ())
        if CLEANUP in finalizers:
            return obj
        held = {**obj, "metadata": {**obj["metadata"], "finalizers": [*finalizers, CLEANUP]}}
        return with_condition(held, "Terminating", "True", "InstanceDeletionPending", _PENDING, now)

    def causes(self, obj: Object) -> Iterator[Cause]:
        yield from spec_causes(obj["spec"])
        yield from stored_causes(obj)
        yield from approval_causes(obj)

    def causes_of_new(self, obj: Object) -> Iterator[Cause]:
        name, spec = obj["metadata"]["name"], obj["spec"]
        wanted = f"{spec['names'].get('plural', '')}.{spec.get('group', '')}"
        text = 'must be spec.names.plural+"."+spec.group'
        if name != wanted:
            yield invalid("metadata.name", name, text)
        yield from self.causes(obj)

    def causes_of_change(self, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        return () if subresource == "status" else super().causes_of_change(old, new, subresource)

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        fixed = [("group",), ("names", "plural")]
        if is_true(old, "Established"):
            fixed = [("scope",), ("names", "kind"), *fixed]
        pairs = [(".".join(path), _at(old["spec"], path), _at(new["spec"], path)) for path in fixed]
        return [
            invalid(f"spec.{path}", after, "field is immutable") for path, before, after in pairs if before != after
        ]

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        if old is not None and same_json(part(obj, "spec"), part(old, "spec")):
            return []
        known = set() if old is None else set(_warnings(old))
        return [warning for warning in _warnings(obj) if warning not in known]


def with_condition(obj: Object, type_: str, status: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """Return a definition with a condition. The transition time changes only if the condition's status does."""
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
