# SPDX-License-Identifier: Apache-2.0
"""The decision how to migrate the stored objects of a custom resource to its storage version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from apimachinery.errors import UsageError
from controller_runtime.api.resources import Resource

ANNOTATION = "controller-runtime/storage-migration"
"""The annotation of a definition in which an unfinished migration records its progress."""

_OPEN = "x-kubernetes-preserve-unknown-fields"
_IMPLICIT = ("apiVersion", "kind", "metadata")


@attrs.frozen
class StoragePlan:
    """The plan to migrate the stored objects of one definition.

    Attributes:
        name: The name of the definition.
        resource: The kind, in a version that is served.
        storage: The version in which the server stores objects.
        pruned: The other versions in which objects may still be stored; empty if there is nothing to do.
        generation: The generation of the definition for which the plan is valid.
    """

    name: str
    resource: Resource[dict[str, Any]]
    storage: str
    pruned: Sequence[str]
    generation: int


def plan_storage(definition: Mapping[str, Any], *, accept_loss: bool = False) -> StoragePlan:
    """Return the plan to migrate the stored objects of a definition to its storage version.

    Args:
        definition: The definition as the server has it.
        accept_loss: Do not raise if fields would be lost.

    Raises:
        UsageError: A version in which objects may be stored is no longer in the definition, no version is served, the
            kind is not established, or fields would be lost because no conversion exists.
    """
    name, spec, status = definition["metadata"]["name"], definition["spec"], definition.get("status") or {}
    versions = {version["name"]: version for version in spec["versions"]}
    storage = next(version for version, body in versions.items() if body["storage"])
    stored = status.get("storedVersions") or []
    if gone := [version for version in stored if version not in versions]:
        raise UsageError(
            f"{name} may have objects stored as {', '.join(gone)}, which the definition no longer has: the server "
            "cannot read them; add that version to spec.versions again, with served: false"
        )
    served = [version for version, body in versions.items() if body["served"]]
    if not served:
        raise UsageError(f"{name} has no version that is served, so its objects cannot be written: serve one")
    conditions = {one["type"]: one["status"] for one in status.get("conditions") or ()}
    if conditions.get("Established") != "True" or conditions.get("Terminating") == "True":
        raise UsageError(f"{name} is not established, or is being deleted: see its conditions")
    pruned = [version for version in stored if version != storage]
    converts = (spec.get("conversion") or {}).get("strategy", "None") != "None"
    if not (converts or accept_loss):
        for old in pruned:
            _refuse_losses(name, versions[old], versions[storage])
    names = spec["names"]
    chosen = storage if storage in served else served[0]
    resource: Resource[dict[str, Any]] = Resource(
        spec["group"], chosen, names["kind"], names["plural"], spec["scope"] == "Namespaced"
    )
    return StoragePlan(name, resource, storage, pruned, definition["metadata"].get("generation", 0))


def _refuse_losses(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    lost = [*_lost(_schema(old), _schema(new), "")]
    if lost:
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        raise UsageError(
            f"{name}: {old['name']} has {', '.join(lost[:5])}{more}, which {new['name']} has not, and no webhook "
            "converts them: rewriting would remove them from the stored objects; give --accept-loss if that is meant"
        )


def _schema(version: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = (version.get("schema") or {}).get("openAPIV3Schema") or {_OPEN: True}
    fields = {name: field for name, field in schema.get("properties", {}).items() if name not in _IMPLICIT}
    return {**schema, "properties": fields}


def _lost(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the paths that `old` can have and `new` cannot."""
    if new.get(_OPEN):
        return
    if old.get(_OPEN):
        yield f"{path or '.'} (any fields)"
        return
    known, values = new.get("properties", {}), new.get("additionalProperties")
    for name, field in old.get("properties", {}).items():
        other = known.get(name, values if isinstance(values, Mapping) else None)
        if other is not None:
            yield from _lost(field, other, f"{path}.{name}")
        elif values is not True:
            yield f"{path}.{name}"
    if "items" in old:
        yield from _lost(old["items"], new.get("items") or {}, f"{path}[]")
    if isinstance(old.get("additionalProperties"), Mapping):
        if isinstance(values, Mapping):
            yield from _lost(old["additionalProperties"], values, f"{path}[…]")
        elif values is not True:
            yield f"{path}[…]"


Place = tuple[str, str]
"""The namespace and the name of an object; migrations go through objects in this order."""


def note_of(plan: StoragePlan, after: Place) -> str:
    """Return the value of the annotation which records that all objects up to `after` are migrated."""
    return json.dumps({"generation": plan.generation, "storage": plan.storage, "after": list(after)})


def resumed_after(plan: StoragePlan, definition: Mapping[str, Any]) -> Place | None:
    """Return the last object that an unfinished migration has migrated; None if there is no migration to continue.

    A record of another generation does not count: the storage version may have been another one in between. Objects
    written after the record are stored in the storage version anyway.
    """
    annotations = definition["metadata"].get("annotations") or {}
    try:
        note = json.loads(annotations.get(ANNOTATION, "null"))
        namespace, name = note["after"]
        is_ours = (note["generation"], note["storage"]) == (plan.generation, plan.storage)
    except (ValueError, TypeError, KeyError):
        return None
    return (str(namespace), str(name)) if is_ours else None
