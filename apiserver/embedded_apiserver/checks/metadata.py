# SPDX-License-Identifier: Apache-2.0
"""The checks of `metadata` for all kinds.

Causes have the words and the fields of a real API server, because clients show and match them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from apimachinery import names
from embedded_apiserver.causes import forbidden, invalid, required, too_long
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.metadata import DELETION_METADATA
from embedded_apiserver.status import Cause

_NAME_RULES = {
    "subdomain": names.subdomain_errors,
    "label": names.label_errors,
    "service": names.service_name_errors,
    "path": names.path_segment_errors,
    "key": names.config_key_errors,
}
_MAX_ANNOTATIONS = 256 * 1024  # bytes of all keys and values together, as on a real server
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_STANDARD_FINALIZERS = (_ORPHAN, _FOREGROUND, "kubernetes")


def metadata_causes(kind: Kind, metadata: Mapping[str, Any]) -> Iterator[Cause]:
    """Return the validation errors of the metadata of a new object."""
    yield from name_causes(kind, metadata)
    if (generation := metadata.get("generation", 0)) < 0:
        yield invalid("metadata.generation", generation, "must be greater than or equal to 0")
    yield from _common_causes(metadata, {})
    yield from _finalizer_causes(metadata.get("finalizers", ()))
    # Custom objects get a warning instead, see `custom_kinds`; the kinds that allow any finalizer get neither.
    if kind.definition is None and not _allows_any_finalizer(kind):
        yield from _unqualified_causes(metadata.get("finalizers", ()))


def name_causes(kind: Kind, metadata: Mapping[str, Any]) -> list[Cause]:
    """Return the validation errors of the name and the `generateName` of a new object."""
    if not metadata.get("name"):
        return [required("metadata.name", "name or generateName is required")]
    problems_of = _NAME_RULES[kind.name_rule]
    causes = []
    if generate := metadata.get("generateName"):
        # A suffix will follow, so a dash at the end is not a cause; any letter stands for the suffix.
        stem = f"{generate[:-1]}x" if generate.endswith("-") else generate
        causes += [invalid("metadata.generateName", generate, text) for text in problems_of(stem)]
    return causes + [invalid("metadata.name", metadata["name"], text) for text in problems_of(metadata["name"])]


def label_causes(labels: Mapping[str, str], field: str) -> Iterator[Cause]:
    """Return the validation errors of labels, or of another map with the same rules; `field` is the path of the map."""
    for key, value in labels.items():
        for text in names.qualified_name_errors(key):
            yield invalid(field, key, text)
        for text in names.label_value_errors(value):
            yield invalid(field, value, text)


def annotation_causes(annotations: Mapping[str, str], field: str) -> Iterator[Cause]:
    """Return the validation errors of annotations: of each key, and of the total size."""
    for key in annotations:
        for text in names.qualified_name_errors(key.lower()):
            yield invalid(field, key, text)
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MAX_ANNOTATIONS:
        yield too_long(field, _MAX_ANNOTATIONS)


def _common_causes(metadata: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[Cause]:
    """Return the validation errors of fields that both rules of metadata check, of all objects and of their updates.

    A field that is equal in `before` was accepted once, perhaps under older rules, and an update of something else must
    still succeed.
    """
    if (labels := metadata.get("labels")) != before.get("labels"):
        yield from label_causes(labels or {}, "metadata.labels")
    if (annotations := metadata.get("annotations")) != before.get("annotations"):
        yield from annotation_causes(annotations or {}, "metadata.annotations")
    if (owners := metadata.get("ownerReferences")) != before.get("ownerReferences"):
        yield from _owner_causes(owners or ())


def updated_metadata_causes(
    kind: Kind, before: Mapping[str, Any], metadata: Mapping[str, Any], sent: Mapping[str, Any], subresource: str
) -> Iterator[Cause]:
    """Return the validation errors of updated metadata, each as often as a real API server reports it.

    A real API server checks the metadata of an update by general rules, and then once or twice more by the rules of the
    kind.

    Args:
        kind: The kind.
        before: The stored metadata.
        metadata: The metadata to be stored.
        sent: The metadata from the client.
        subresource: The written subresource; empty for the object itself.
    """
    names = ("finalizers", "labels", "annotations", "ownerReferences")
    changed = metadata != before and any(metadata.get(name) != before.get(name) for name in names)
    if not changed and sent.get("uid") in (None, "", before["uid"]) and sent.keys().isdisjoint(DELETION_METADATA):
        return
    common = list(_common_causes(metadata, before))
    fixed = list(_fixed_causes(before, metadata, sent))
    finalizers = metadata.get("finalizers", ())
    is_new = finalizers != before.get("finalizers", ())
    malformed = list(_finalizer_causes(finalizers)) if is_new else []
    unqualified = list(_unqualified_causes(finalizers)) if is_new else []
    yield from (*common, *malformed, *fixed, *common)
    for rule in kind.status_metadata if subresource else kind.metadata:
        yield from (*(fixed if rule in "ug" else ()), *common)
        yield from (*(malformed if rule in "wm" else ()), *(unqualified if rule in "uw" else ()))


def _allows_any_finalizer(kind: Kind) -> bool:
    return set(kind.metadata) <= {"g", "m"}


def _fixed_causes(before: Mapping[str, Any], metadata: Mapping[str, Any], sent: Mapping[str, Any]) -> Iterator[Cause]:
    if "deletionTimestamp" in before:
        yield from _new_finalizer_causes(metadata.get("finalizers", ()), before.get("finalizers", ()))
    for name in ("uid", *DELETION_METADATA):
        if (value := sent.get(name)) not in (None, "") and value != before.get(name):
            yield invalid(f"metadata.{name}", value, "field is immutable")


def _owner_causes(owners: Sequence[Mapping[str, Any]]) -> Iterator[Cause]:
    field = "metadata.ownerReferences"
    controllers: list[str] = []
    for owner in owners:
        if not _version_of(api_version := owner.get("apiVersion", "")):
            yield invalid(f"{field}.apiVersion", api_version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid(f"{field}.{name}", "", "must not be empty")
        if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
            yield invalid(field, _shown_owner(owner), "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind', '')}/{owner.get('name', '')}")
            if len(controllers) > 1:
                text = 'Only one reference can have Controller set to true. Found "true" in references for'
                found = f"{text} {controllers[0]} and {controllers[-1]}"
                yield invalid(field, [_shown_owner(one) for one in owners], found)


def _shown_owner(owner: Mapping[str, Any]) -> dict[str, Any]:
    """Return an owner with its fields in the order of messages."""
    needed = {name: owner.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    return needed | {name: owner[name] for name in ("controller", "blockOwnerDeletion") if name in owner}


def _version_of(api_version: str) -> str:
    """Return the version of an `apiVersion` without its group; empty if the text is malformed."""
    group, slash, version = api_version.rpartition("/")
    return "" if "/" in group or (slash and not group) else version


def _unqualified_causes(finalizers: Sequence[str]) -> Iterator[Cause]:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    for index, name in enumerate(finalizers):
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            yield invalid(f"metadata.finalizers[{index}]", name, text)


def _finalizer_causes(finalizers: Sequence[str]) -> Iterator[Cause]:
    field = "metadata.finalizers"
    for name in finalizers:
        for text in names.qualified_name_errors(name):
            yield invalid(field, name, text)
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        text = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        yield invalid(field, finalizers, text)


def _new_finalizer_causes(finalizers: Iterable[str], before: Iterable[str]) -> list[Cause]:
    known = set(before)
    added = [name for name in finalizers if name not in known]
    if not added:
        return []
    shown = ", ".join(f'"{name}"' for name in added)
    text = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
    return [forbidden("metadata.finalizers", text)]
