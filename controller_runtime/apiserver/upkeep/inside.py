# SPDX-License-Identifier: Apache-2.0
"""A caller inside the server's process: its writes go in by the front door, like everybody's."""

from __future__ import annotations

import msgspec

from controller_runtime.api.http import Handler, HTTPRequest, HTTPResponse
from controller_runtime.apiserver.kinds.registry import NAMESPACE, Kind
from controller_runtime.apiserver.upkeep.ownership import Item, Meta
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

_MERGE_PATCH = "application/merge-patch+json"
_NOT_FOUND, _CONFLICT = 404, 409
_FIRST_ERROR, _FIRST_FAILURE = 400, 500


class Inside:
    """Writes of the server's own helpers.

    Every method says whether the matter is settled: done, or refused for good. It is not if
    somebody else wrote in between or the server itself failed: then decide again.

    Threads: any.
    """

    def __init__(self, server: Handler, user_agent: str, token: str | None = None) -> None:
        self._server = server
        self._headers = {"user-agent": user_agent, "content-type": "application/json"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"

    def delete(self, item: Item, meta: Meta, policy: str) -> bool:
        """Delete the very object that was decided on, in the state it was in."""
        preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        return self._ask("DELETE", path_of(item), {"propagationPolicy": policy, "preconditions": preconditions})

    def patch(self, item: Item, meta: Meta, metadata: dict[str, object]) -> bool:
        """Merge into the metadata of the very object that was decided on, in the state it was in."""
        asserted = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        return self._ask("PATCH", path_of(item), {"metadata": {**metadata, **asserted}}, media_type=_MERGE_PATCH)

    def empty(self, kind: Kind, namespace: str) -> bool:
        """Delete the objects of one kind in one namespace."""
        return self._ask("DELETE", path_of(Item(kind, f"{namespace}/")).rstrip("/"), {})

    def finalize(self, namespace: dict[str, object], name: str) -> bool:
        """Replace the finalizers of a namespace's content by those given with it."""
        return self._ask("PUT", path_of(Item(NAMESPACE, name)) + "/finalize", namespace)

    def _ask(self, method: str, path: str, body: object, media_type: str = "application/json") -> bool:
        headers = {**self._headers, "content-type": media_type}
        answer = self._server.handle(HTTPRequest(method, path, (), headers, msgspec.json.encode(body)))
        assert isinstance(answer, HTTPResponse), "no watch was asked for"
        if answer.status >= _FIRST_ERROR and answer.status not in (_NOT_FOUND, _CONFLICT):
            log.warning("upkeep refused", method=method, path=path, answer=answer.body.decode(errors="replace"))
        return answer.status != _CONFLICT and answer.status < _FIRST_FAILURE


def path_of(item: Item) -> str:
    """The path under which an object is served."""
    kind = item.kind
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
    namespace, _, name = item.key.rpartition("/")
    return f"{root}/namespaces/{namespace}/{kind.plural}/{name}" if namespace else f"{root}/{kind.plural}/{name}"
