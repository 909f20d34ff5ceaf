# SPDX-License-Identifier: Apache-2.0
"""The refusal of an object that is sent with the uid of another one."""

from __future__ import annotations

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.status import StatusError, conflict

# The keys under which a real server stores objects, where they are not the names of the kinds in paths.
_KEYS = {
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}


def uid_conflict(kind: Kind, namespace: str, name: str, asked: str, actual: str) -> StatusError:
    """Return a 409 for an update of an object with another uid; `actual` is empty if there is no such object."""
    own = _KEYS.get(kind.plural, kind.plural)
    stored = own if kind.definition is None else f"{kind.group}/{kind.plural}"
    key = "/".join(part for part in ("/registry", stored, namespace, name) if part)
    return conflict(
        kind,
        name,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {asked}, UID in object meta: {actual}",
    )
