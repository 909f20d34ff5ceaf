# SPDX-License-Identifier: Apache-2.0
"""A client in the server's process. Its writes are ordinary requests, so they pass all checks that others do."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from apimachinery.http import Handler, HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.upkeep.ownership import Item, Meta

log = get_logger(__name__)

_MERGE_PATCH = "application/merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
_NOT_FOUND, _CONFLICT = 404, 409
_FIRST_ERROR, _FIRST_FAILURE = 400, 500


class InternalClient:
    """Sends the write requests of the controllers in the server's process, such as garbage collection.

    Each method returns True if the write was done, the object no longer exists, or the write was refused and would be
    refused again. It returns False if another client has changed the object meanwhile, or the server failed; the caller
    then has to decide again.

    Args:
        server: The server, which gets the requests.
        user_agent: The User-Agent of the requests, which is also the field manager.
        token: The bearer token that `server` requires; None if it requires none.

    Threads: any.
    """

    def __init__(self, server: Handler, user_agent: str, token: str | None = None) -> None:
        self._server = server
        self._headers = {"user-agent": user_agent, "content-type": "application/json"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"

    def create(self, kind: Kind, namespace: str, obj: Mapping[str, object]) -> bool:
        """Create an object in a namespace, which is empty for a cluster-scoped kind."""
        collection = path_of(Item(kind, f"{namespace}/" if namespace else "")).rstrip("/")
        return self._ask("POST", collection, obj)

    def delete(self, item: Item, meta: Meta, policy: str) -> bool:
        """Delete an object unless it has changed since `meta` was read.

        Args:
            item: The object.
            meta: The metadata on which the decision to delete it is based.
            policy: The `propagationPolicy`.
        """
        preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        return self._ask("DELETE", path_of(item), {"propagationPolicy": policy, "preconditions": preconditions})

    def patch(self, item: Item, meta: Meta, metadata: dict[str, object]) -> bool:
        """Merge `metadata` into the metadata of an object, unless the object has changed since `meta` was read."""
        asserted = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        return self._ask("PATCH", path_of(item), {"metadata": {**metadata, **asserted}}, media_type=_MERGE_PATCH)

    def empty(self, kind: Kind, namespace: str) -> bool:
        """Delete all objects of one kind in one namespace."""
        return self._ask(
            "DELETE", path_of(Item(kind, f"{namespace}/")).rstrip("/"), {"propagationPolicy": "Background"}
        )

    def show(self, namespace: Mapping[str, object], name: str) -> bool:
        """Replace the status of the namespace `name` by that in `namespace`, a complete object."""
        return self._ask("PUT", path_of(Item(NAMESPACE, name)) + "/status", namespace)

    def finalize(self, namespace: dict[str, object], name: str) -> bool:
        """Replace the finalizers in the spec of the namespace `name` by those in `namespace`, a complete object."""
        return self._ask("PUT", path_of(Item(NAMESPACE, name)) + "/finalize", namespace)

    def apply_status(self, item: Item, status: Mapping[str, object], manager: str) -> bool:
        """Apply the status of an object as the field manager `manager`, with `force`."""
        kind, name = item.kind, item.key.rpartition("/")[2]
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "status": status}
        query = (("fieldManager", manager), ("force", "true"))
        return self._ask("PATCH", f"{path_of(item)}/status", body, media_type=_APPLY_PATCH, query=query)

    def _ask(
        self,
        method: str,
        path: str,
        body: object,
        media_type: str = "application/json",
        query: tuple[tuple[str, str], ...] = (),
    ) -> bool:
        headers = {**self._headers, "content-type": media_type}
        answer = self._server.handle(HTTPRequest(method, path, query, headers, msgspec.json.encode(body)))
        assert isinstance(answer, HTTPResponse), "no watch was asked for"
        if answer.status >= _FIRST_ERROR and answer.status not in (_NOT_FOUND, _CONFLICT):
            log.warning("upkeep refused", method=method, path=path, answer=answer.body.decode(errors="replace"))
        return answer.status != _CONFLICT and answer.status < _FIRST_FAILURE


def path_of(item: Item) -> str:
    """Return the URL path of an object."""
    kind = item.kind
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
    namespace, _, name = item.key.rpartition("/")
    return f"{root}/namespaces/{namespace}/{kind.plural}/{name}" if namespace else f"{root}/{kind.plural}/{name}"
