# SPDX-License-Identifier: Apache-2.0
"""The fields that a request can write through a subresource; a real server resets the others, and nobody owns them."""

from __future__ import annotations

from embedded_apiserver.groups.certificates.kinds import SIGNING_REQUEST
from embedded_apiserver.groups.devices.kinds import RESOURCE_CLAIM
from embedded_apiserver.groups.flowcontrol.kinds import FLOW_SCHEMA, PRIORITY_LEVEL
from embedded_apiserver.groups.networking.kinds import SERVICE_CIDR
from embedded_apiserver.groups.registration.kinds import API_SERVICE
from embedded_apiserver.groups.storage.kinds import ATTACHMENT
from embedded_apiserver.groups.workloads.kinds import DEPLOYMENT
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.metadata import CLIENT_METADATA, DELETION_METADATA
from embedded_apiserver.typed.fieldset import Path
from embedded_apiserver.typed.fieldtree import Changes

_METADATA = (*CLIENT_METADATA, *DELETION_METADATA)
# The kinds whose metadata no write of a status changes.
_RESET = (ATTACHMENT, SERVICE_CIDR, RESOURCE_CLAIM, FLOW_SCHEMA, PRIORITY_LEVEL, API_SERVICE)
_UNLABELLED = tuple(name for name in _METADATA if name != "labels")
# Decisions about a request for a certificate are made through `approval`, the certificate is written through `status`.
_RESET_OF_REQUESTS = {"status": ("f:status", "f:conditions"), "approval": ("f:status", "f:certificate")}


def metadata_of(kind: Kind, subresource: str) -> tuple[str, ...]:
    """Return the fields of the metadata that can be written: the status of a deployment leaves its labels."""
    if subresource != "status":
        return _METADATA
    return _UNLABELLED if kind is DEPLOYMENT else () if kind in _RESET else _METADATA


def elsewhere(kind: Kind, subresource: str) -> tuple[str, ...]:
    """Return the top-level fields that a request to a URL path cannot write: spec or status, or none."""
    if not kind.has_status:
        return ()
    if kind is SIGNING_REQUEST:  # whose spec never changes
        return ("spec",) if subresource else ("spec", "status")
    return ("spec",) if subresource == "status" else ("status",)


def is_reset(kind: Kind, subresource: str, path: Path) -> bool:
    """Return whether a field is one inside of the spec or status that nobody owns who writes it this way."""
    return kind is SIGNING_REQUEST and path[:2] == _RESET_OF_REQUESTS.get(subresource)


def without_reset(kind: Kind, subresource: str, changes: Changes) -> Changes:
    """Return the changes of fields that can be owned."""
    if kind is not SIGNING_REQUEST or not subresource:
        return changes
    return Changes(*({path for path in paths if not is_reset(kind, subresource, path)} for paths in changes))
