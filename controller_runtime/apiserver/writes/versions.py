# SPDX-License-Identifier: Apache-2.0
"""Field ownership across the API versions of a custom kind.

An entry of `managedFields` names fields in one API version. To compare it with a write in another one, a real server
shows the object in the version of the entry, and fails if the object has fields that this version does not have.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.writes.entries import Entry, Object
from controller_runtime.apiserver.writes.typed import faults


class NotComparable(Exception):
    """An object cannot be shown in the API version of one of its managers; the message is that of a real server."""


def comparable(kind: Kind, entries: Sequence[Entry], old: Object, new: Object | None = None) -> Sequence[Entry]:
    """Return the entries without those of API versions that the kind no longer has.

    Args:
        kind: The kind in the API version of the write.
        entries: The entries of the object.
        old: The object before the write.
        new: The object after it; None if it is not made yet.

    Raises:
        NotComparable: The version of an entry lacks fields of the object.
    """
    if kind.definition is None:
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
            if obj is not None and (found := list(faults(schema, {**obj, "metadata": {}}))):
                raise NotComparable(place + (found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])))
    return left


def _check_own(kind: Kind, old: Object, new: Object | None) -> None:
    """Refuse objects that do not have the types of the version of the write: they were stored by another version."""
    for obj, place in ((old, "live"), (new, "new")):
        if obj is not None and (found := list(faults(kind.schema, {**obj, "metadata": {}}))):
            metadata = obj["metadata"]
            where = f"{metadata.get('namespace', '')}/{metadata['name']}; {kind.api_version}, Kind={kind.kind}"
            told = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
            raise NotComparable(f"failed to create typed {place} object ({where}): {told}")
