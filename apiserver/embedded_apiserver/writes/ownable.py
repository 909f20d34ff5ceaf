# SPDX-License-Identifier: Apache-2.0
"""The fields that a request can write through a subresource; a real server resets the others, and nobody owns them."""

from __future__ import annotations

from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.metadata import CLIENT_METADATA, DELETION_METADATA
from embedded_apiserver.kinds.policy import ALL
from embedded_apiserver.typed.fieldset import Path
from embedded_apiserver.typed.fieldtree import Changes

_METADATA = (*CLIENT_METADATA, *DELETION_METADATA)


def metadata_of(kind: Kind, subresource: str) -> tuple[str, ...]:
    """Return the fields of the metadata that can be written: those that a write of the status does not freeze."""
    if subresource != "status" or not (frozen := kind.policy.freezes):
        return _METADATA
    return () if frozen == ALL else tuple(name for name in _METADATA if name not in frozen)


def elsewhere(kind: Kind, subresource: str) -> tuple[str, ...]:
    """Return the top-level fields that a request to a URL path cannot write: spec or status, or none."""
    if not kind.has_status:
        return ()
    if kind.policy.resets:  # its spec never changes
        return ("spec",) if subresource else ("spec", "status")
    return ("spec",) if subresource == "status" else ("status",)


def is_reset(kind: Kind, subresource: str, path: Path) -> bool:
    """Return whether a field is in the part of an object that a write to this path resets, and so not owned."""
    return path[:2] == kind.policy.resets.get(subresource)


def without_reset(kind: Kind, subresource: str, changes: Changes) -> Changes:
    """Return the changes without fields that a write to this path resets; see `is_reset`."""
    if subresource not in kind.policy.resets:
        return changes
    return Changes(*({path for path in paths if not is_reset(kind, subresource, path)} for paths in changes))
