# SPDX-License-Identifier: Apache-2.0
"""The record of the requests to a server, for the assertions of tests."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, overload

import attrs
import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from embedded_apiserver.list_options import is_watch
from embedded_apiserver.options import query_of
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError, qualified
from embedded_apiserver.testing.matching import METHODS, WHERE_KINDS_ARE
from embedded_apiserver.typed.documents import Unreadable, from_yaml
from embedded_apiserver.writes.protobuf_bodies import readable

MOST = 10_000
"""The most requests that are kept. Beyond it, the oldest are dropped."""
SHOWN = 20
"""The number of last requests that a failed test shows."""
_NOT_FOUND = 404


@attrs.define
class RecordedRequest:
    """One request, as listed by `KubernetesServer.requests`.

    Attributes:
        verb: The Kubernetes verb, such as `patch` or `watch`.
        resource: The plural with its group and subresource, such as `pods`, `deployments.apps` or `pods/status`.
        namespace: The namespace; empty for a cluster-scoped kind, or for all namespaces.
        name: The name of the object; empty for a collection, or a creation with a generated name.
        user: The name of the user; empty if the credentials were wrong.
        status: The HTTP status code of the response; 0 before the response, or if the connection was closed without
            one.
        path: The URL path.
        plural: The plural of the resource, without group and subresource.
        group: The API group; empty for the core group.
        subresource: The subresource; empty for the object itself.
    """

    verb: str
    resource: str
    namespace: str
    name: str
    user: str
    path: str
    plural: str = ""
    group: str = ""
    subresource: str = ""
    status: int = 0
    _sent: HTTPRequest = attrs.field(default=HTTPRequest("", ""), repr=False)
    _route: Route | None = attrs.field(default=None, repr=False)

    @property
    def body(self) -> Any:
        """The decoded body, from JSON, YAML or protobuf; None if empty, and the raw bytes if it cannot be decoded."""
        if not self._sent.body:
            return None
        try:
            sent = readable(self._sent, self._route.kind) if self._route else self._sent
            return _decoded(sent)
        except (StatusError, Unreadable, ValueError):
            return self._sent.body

    def __str__(self) -> str:
        name = "/".join(filter(None, (self.namespace, self.name)))
        answer = "no answer" if not self.status else str(self.status)
        hint = f" (not served: {WHERE_KINDS_ARE})" if self._route is None and self.status == _NOT_FOUND else ""
        return f"{self.verb} {self.resource or self.path} {name}".rstrip() + f" by {self.user or '?'}: {answer}{hint}"


def recorded(request: HTTPRequest, route: Route | None, user: str) -> RecordedRequest:
    """Return a record of a request by `user`; `route` is None for a path that names no resource."""
    if route is None:
        return RecordedRequest(request.method.lower(), "", "", "", user, request.path, sent=request)
    kind, part = route.kind, route.subresource
    resource = qualified(kind.plural, kind.group) + (f"/{part}" if part else "")
    verb = _verb(request, route)
    name = route.name or (_name_in(request, route) if verb == "create" else "")
    parts = (request.path, kind.plural, kind.group, part)
    return RecordedRequest(verb, resource, route.namespace, name, user, *parts, sent=request, route=route)


def status_of(answer: HTTPResponse | Watch) -> int:
    """Return the HTTP status code of a response: 200 for a watch, 0 for a connection that is closed without one."""
    return answer.status if isinstance(answer, HTTPResponse) else 200


class Requests(Sequence[RecordedRequest]):
    """The last requests of a server, oldest first. Threads: any; an iteration works on a copy."""

    def __init__(self) -> None:
        self._kept: deque[RecordedRequest] = deque(maxlen=MOST)

    def add(self, request: RecordedRequest) -> None:
        """Add a request."""
        self._kept.append(request)

    def told(self) -> str:
        """Return the last requests as text, one in each line."""
        return "\n".join(str(each) for each in self[-SHOWN:])

    @overload
    def __getitem__(self, index: int) -> RecordedRequest: ...
    @overload
    def __getitem__(self, index: slice) -> list[RecordedRequest]: ...
    def __getitem__(self, index: int | slice) -> RecordedRequest | list[RecordedRequest]:
        return [*self._kept][index]

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[RecordedRequest]:
        return iter([*self._kept])

    def __repr__(self) -> str:
        return f"[{', '.join(str(each) for each in self)}]"


def _verb(request: HTTPRequest, route: Route) -> str:
    """Return the verb of a request. That it is allowed is checked when it is carried out."""
    method = request.method
    if method == "GET" and not route.name:
        return "watch" if is_watch(query_of(request.query)) else "list"
    if method == "DELETE" and not route.name:
        return "deletecollection"
    return METHODS.get(method, (method.lower(),))[0]


def _name_in(request: HTTPRequest, route: Route) -> str:
    """Return the name in the body of a creation; empty if it has none, or cannot be read."""
    try:
        body = _decoded(readable(request, route.kind))
    except (StatusError, Unreadable, ValueError):
        return ""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _decoded(request: HTTPRequest) -> Any:
    if "yaml" in request.headers.get("content-type", ""):
        return from_yaml(request.body)[0]
    return msgspec.json.decode(request.body)
