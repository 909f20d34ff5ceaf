# SPDX-License-Identifier: Apache-2.0
"""A client of an embedded server in the same process, with short calls for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from embedded_apiserver.server import APIServer

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

Object = dict[str, Any]


def lease(name: str, metadata: Mapping[str, Any] | None = None, **spec: Any) -> Object:
    """Return a lease held by `a`."""
    return {"metadata": {"name": name, **(metadata or {})}, "spec": {"holderIdentity": "a", **spec}}


def node(name: str, **parts: Any) -> Object:
    """Return a node; `metadata` is added to its name."""
    return {**parts, "metadata": {"name": name, **parts.get("metadata", {})}}


def pod(name: str, **spec: Any) -> Object:
    """Return a pod with one container."""
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


class Told:
    """A watch, and the number of calls of its `on_ready`."""

    def __init__(self) -> None:
        self.times = 0
        self.watch: Watch | None = None

    def __call__(self) -> None:
        self.times += 1


class Asking:
    """A client of one server, without a network."""

    def __init__(self, server: APIServer) -> None:
        self.server = server

    def __call__(
        self, method: str, path: str, obj: Any = None, *, headers: Mapping[str, str] | None = None, **query: Any
    ) -> tuple[int, Any]:
        """Make a request; return the status and the decoded body."""
        response = self.response(method, path, obj, headers=headers, **query)
        return response.status, json.loads(response.body)

    def response(
        self, method: str, path: str, obj: Any = None, *, headers: Mapping[str, str] | None = None, **query: Any
    ) -> HTTPResponse:
        """Make a request; return the response."""
        body = obj if isinstance(obj, bytes) else b"" if obj is None else json.dumps(obj).encode()
        pairs = tuple((name.rstrip("_"), str(value)) for name, value in query.items())
        answer = self.server.handle(HTTPRequest(method, path, pairs, headers or {}, body))
        assert isinstance(answer, HTTPResponse)
        return answer

    def ok(self, method: str, path: str, obj: Any = None, **query: Any) -> Object:
        """Make a request that must succeed; return the decoded body."""
        status, body = self(method, path, obj, **query)
        assert status in (200, 201), body
        return dict(body)

    def patch(self, path: str, patch: Any, media_type: str = MERGE, **query: Any) -> tuple[int, Any]:
        """Patch an object, by default with a merge patch; return the status and the decoded body."""
        return self("PATCH", path, patch, headers={"content-type": media_type}, **query)

    def watch(self, path: str, *, accept: str = "", **query: Any) -> Watch:
        """Open a watch, to be read with `events`."""
        pairs = (("watch", "1"), *((name, str(value)) for name, value in query.items()))
        answer = self.server.handle(HTTPRequest("GET", path, pairs, {"accept": accept}), on_ready=lambda: None)
        assert not isinstance(answer, HTTPResponse), answer.body
        return answer


def events(watch: Watch) -> list[Object]:
    """Return the events of a watch up to now."""
    told: list[Object] = []
    while lines := watch.take()[0]:
        told += map(json.loads, lines)
    return told


def brief(told: list[Object]) -> list[tuple[str, str]]:
    """Return type and name of each event."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in told]


def version(obj: Object) -> int:
    """Return the resourceVersion of an object or a list."""
    return int(obj["metadata"]["resourceVersion"])
