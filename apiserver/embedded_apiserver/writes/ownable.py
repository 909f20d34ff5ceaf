# SPDX-License-Identifier: Apache-2.0
"""The fields that a request can write through a subresource; a real API server resets others, so nobody owns them."""

from __future__ import annotations

from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.metadata import CLIENT_METADATA, DELETION_METADATA
from embedded_apiserver.kinds.policy import ALL
from embedded_apiserver.typed.fieldset import Path
from embedded_apiserver.typed.fieldtree import Changes

_METADATA = (*CLIENT_METADATA, *DELETION_METADATA)


def metadata_of(kind: Kind, subresource: str) -> tuple[str, ...]:
    """Return the metadata fields that a write to this subresource can change and thus own."""
    if subresource != "status" or not (frozen := kind.policy.freezes):
        return _METADATA
    return () if frozen == ALL else tuple(name for name in _METADATA if name not in frozen)


def elsewhere(kind: Kind, subresource: str) -> tuple[str, ...]:
    """Return the top-level fields that a write to this subresource cannot change: `spec`, `status`, both or none."""
    if not kind.has_status:
        return ()
    if kind.policy.resets:  # its spec never changes
        return ("spec",) if subresource else ("spec", "status")
    return ("spec",) if subresource == "status" else ("status",)


def is_reset(kind: Kind, subresource: str, path: Path) -> bool:
    """Return whether a write to this subresource resets the field at `path`, so that no manager can own it."""
    return path[:2] == kind.policy.resets.get(subresource)


def without_reset(kind: Kind, subresource: str, changes: Changes) -> Changes:
    """Return the changes without the fields that a write to this subresource resets; see `is_reset`."""
    if subresource not in kind.policy.resets:
        return changes
    return Changes(*({path for path in paths if not is_reset(kind, subresource, path)} for paths in changes))
