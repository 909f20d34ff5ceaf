# SPDX-License-Identifier: Apache-2.0
"""Asking an embedded server in process, in as few words as a test can bear."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from controller_runtime.api.http import HTTPRequest, HTTPResponse, Watch
from controller_runtime.apiserver.server import APIServer

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

Object = dict[str, Any]


def lease(name: str, metadata: Mapping[str, Any] | None = None, **spec: Any) -> Object:
    """A lease held by `a`."""
    return {"metadata": {"name": name, **(metadata or {})}, "spec": {"holderIdentity": "a", **spec}}


def node(name: str, **parts: Any) -> Object:
    """A node; `metadata` adds to its name."""
    return {**parts, "metadata": {"name": name, **parts.get("metadata", {})}}


def pod(name: str, **spec: Any) -> Object:
    """A pod of one container."""
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


class Told:
    """One watch, and how often it was said to be ready."""

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
        """One exchange: its status and its decoded body."""
        response = self.response(method, path, obj, headers=headers, **query)
        return response.status, json.loads(response.body)

    def response(
        self, method: str, path: str, obj: Any = None, *, headers: Mapping[str, str] | None = None, **query: Any
    ) -> HTTPResponse:
        """One exchange."""
        body = obj if isinstance(obj, bytes) else b"" if obj is None else json.dumps(obj).encode()
        pairs = tuple((name.rstrip("_"), str(value)) for name, value in query.items())
        answer = self.server.handle(HTTPRequest(method, path, pairs, headers or {}, body))
        assert isinstance(answer, HTTPResponse)
        return answer

    def ok(self, method: str, path: str, obj: Any = None, **query: Any) -> Object:
        """The body of an exchange that succeeds."""
        status, body = self(method, path, obj, **query)
        assert status in (200, 201), body
        return dict(body)

    def patch(self, path: str, patch: Any, media_type: str = MERGE, **query: Any) -> tuple[int, Any]:
        """A PATCH."""
        return self("PATCH", path, patch, headers={"content-type": media_type}, **query)

    def watch(self, path: str, **query: Any) -> Watch:
        """A watch; read it with `events`."""
        pairs = (("watch", "1"), *((name, str(value)) for name, value in query.items()))
        answer = self.server.handle(HTTPRequest("GET", path, pairs), on_ready=lambda: None)
        assert not isinstance(answer, HTTPResponse), answer.body
        return answer


def events(watch: Watch) -> list[Object]:
    """What a watch has to tell by now."""
    told: list[Object] = []
    while lines := watch.take()[0]:
        told += map(json.loads, lines)
    return told


def brief(told: list[Object]) -> list[tuple[str, str]]:
    """Type and name of each event."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in told]


def version(obj: Object) -> int:
    """The resourceVersion of an object or a list."""
    return int(obj["metadata"]["resourceVersion"])
