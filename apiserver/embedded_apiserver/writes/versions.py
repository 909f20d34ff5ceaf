# SPDX-License-Identifier: Apache-2.0
"""Field ownership across the API versions of a custom kind.

An entry of `managedFields` names fields in one API version. To compare it with a write in another one, a real API
server shows the object in the version of the entry, and fails if the object has fields that this version does not have.
"""

from __future__ import annotations

from collections.abc import Sequence

from embedded_apiserver.groups.core.kinds import SERVICE_ACCOUNT
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.typed import mismatches
from embedded_apiserver.writes.entries import Entry, Object

_UNMANAGED = "failed to create manager for existing fields: failed to convert {} to smd typed: "


def is_typed(kind: Kind, obj: Object) -> bool:
    """Return whether a new built-in object matches the types of its schema; if not, no manager owns its fields."""
    return kind != SERVICE_ACCOUNT or not any(mismatches.errors(kind.schema, {**obj, "metadata": {}}))


class NotComparable(Exception):
    """An object cannot be converted to the API version of one of its field managers; the message is a real API
    server's.
    """


def comparable(kind: Kind, entries: Sequence[Entry], old: Object, new: Object | None = None) -> Sequence[Entry]:
    """Return the entries that can be compared with a write in the API version of `kind`.

    Entries whose API version a custom kind no longer has are left out.

    Args:
        kind: The kind in the API version of the write.
        entries: The entries in the object's `managedFields`.
        old: The object before the write.
        new: The object after the write; None if it is not known yet.

    Raises:
        NotComparable: `old` or `new` does not match the schema in the API version of the write, or in that of an entry.
    """
    if kind.definition is None:
        if kind == SERVICE_ACCOUNT:
            _check_own(kind, old, new)
        return entries
    if kind.conversion is not None:  # fields of other versions cannot be told apart from those of this one by name
        return [entry for entry in entries if entry["apiVersion"] in kind.versions]
    if len(kind.versions) > 1:
        _check_own(kind, old, new)
    elif all(entry["apiVersion"] == kind.api_version for entry in entries):
        return entries
    left = [entry for entry in entries if entry["apiVersion"] in kind.versions]
    for version in sorted({entry["apiVersion"] for entry in left} - {kind.api_version}):
        schema = kind.versions[version].schema
        for obj, place in ((old, ""), (new, "failed to convert new object: ")):
            if obj is not None and (found := list(mismatches.errors(schema, {**obj, "metadata": {}}))):
                raise NotComparable(place + (found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])))
    return left


def check_prunable(kind: Kind, mine: Sequence[Entry], others: Sequence[Entry], merged: Object) -> None:
    """Refuse a merged object that cannot be converted to the API versions in its `managedFields`.

    A real API server converts the object in order to remove fields that the manager has applied before and applies no
    longer.

    Args:
        kind: The kind in the API version of the write.
        mine: The entry of the applying manager; empty if there is none.
        others: The entries of the other managers.
        merged: The object with the configuration merged in.

    Raises:
        NotComparable: An API version lacks fields of the object.
    """
    if kind.definition is None or not mine:
        return
    last = mine[0]["apiVersion"]
    versions = {entry["apiVersion"] for entry in (*mine, *others)} & kind.versions.keys()
    for version in sorted(versions - {kind.api_version}, key=lambda one: (one != last, one)):
        found = list(mismatches.errors(kind.versions[version].schema, {**merged, "metadata": {}}))
        if found:
            own = "failed to convert merged object to last applied version"
            other = f"failed add back owned items: failed to convert merged object at version {version}"
            told = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
            raise NotComparable(f"failed to prune fields: {own if version == last else other}: {told}")


def check_existing(kind: Kind, live: Object) -> None:
    """Refuse a server-side apply to an object without `managedFields` that does not match the requested API version.

    Raises:
        NotComparable: The object does not match the types of that version.
    """
    if len(kind.versions) > 1 or kind == SERVICE_ACCOUNT:
        _check_own(
            kind, None, live, "failed to create manager for existing fields: failed to convert {} to smd typed: "
        )


def _check_own(
    kind: Kind, old: Object | None, new: Object | None, problem: str = "failed to create typed {}: "
) -> None:
    """Refuse objects that do not have the types of the version of the write.

    Custom ones were stored by another version. Of the built-in kinds, service accounts are stored with secrets that
    have no names, though these tell them apart.
    """
    for obj, place in ((old, "live"), (new, "new")):
        if obj is not None and (found := list(mismatches.errors(kind.schema, {**obj, "metadata": {}}))):
            metadata = obj["metadata"]
            slash = "" if kind.group else "/"
            where = f"{metadata.get('namespace', '')}/{metadata['name']}; {slash}{kind.api_version}, Kind={kind.kind}"
            told = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
            raise NotComparable(problem.format(f"{place} object ({where})") + told)
