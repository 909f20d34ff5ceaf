# SPDX-License-Identifier: Apache-2.0
"""The precondition of a PUT: an object with a uid replaces only the stored object with that uid.

A patch does not contain a whole object; there a changed uid is an error of the metadata, like other changes of it.
"""

from __future__ import annotations

from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.routes import Route
from embedded_apiserver.status import conflict


def check_uid(route: Route, asked: str, actual: str, *, dry_run: bool = False) -> None:
    """Refuse a PUT whose object has another uid than the stored object.

    Args:
        route: The object or subresource in the path.
        asked: The uid in the sent object; empty to accept any uid.
        actual: The uid of the stored object; empty if it does not exist.
        dry_run: True for a dry run, in which a real API server's message has the key of the object without the prefix
            `/registry`.

    Raises:
        StatusError: 409, the uids differ.
    """
    if not asked or asked == actual:
        return
    kind = route.kind.stored
    place = "/".join(part for part in (_place(kind), route.namespace, route.name) if part)
    key = f"/{place}" if dry_run else f"/registry/{place}"
    raise conflict(
        kind,
        route.name,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {asked}, UID in object meta: {actual}",
    )


def _place(kind: Kind) -> str:
    if kind.definition is not None:
        return f"{kind.group}/{kind.plural}"
    return kind.place or kind.plural
