# SPDX-License-Identifier: Apache-2.0
"""Asks the API server whether the sender of a request may make it: by TokenReview, then by SubjectAccessReview."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from apimachinery.errors import APIError, ConnectionLost
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from controller_runtime.api.resources import Resource
from controller_runtime.client.answers import check
from controller_runtime.client.transport import Transport

log = get_logger(__name__)

_TOKEN_REVIEWS: Resource[dict[str, Any]] = Resource(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False
)
_ACCESS_REVIEWS: Resource[dict[str, Any]] = Resource(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)

KEPT = 60.0
"""Seconds for which an answer of the API server is reused, so that a scrape does not cause two requests each time."""

MOST_KEPT = 1000
"""The most answers that are kept. If there are more, all are dropped, so that invented tokens do not fill the
memory.
"""

PATIENCE = 5.0
"""The timeout of each request, in seconds."""

_TEXT = {"content-type": "text/plain; charset=utf-8"}


class AccessFilter:
    """Refuses requests whose senders do not have the right to make them, as the API server decides.

    The program needs the right to create `tokenreviews` and `subjectaccessreviews`.

    Args:
        host: The source of the time; answers of the API server are cached for a while.
        transport: Carries the requests to the API server.

    Threads: any.
    """

    def __init__(self, host: Host, transport: Transport) -> None:
        self._host = host
        self._transport = transport
        # By a hash of token, verb and path: the status of the refusal, 0 for none, and until when it holds. One
        # operation on a dict needs no lock; two threads that ask at once get the same answer.
        self._known: dict[bytes, tuple[int, float]] = {}

    def refusal(self, request: HTTPRequest) -> HTTPResponse | None:
        """Return the answer that refuses a request (401 for the token, 403 for the right); None if it is allowed.

        The status is 500 if the API server does not answer, or answers with an error; the log has the reason.
        """
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            return HTTPResponse(
                401, {**_TEXT, "www-authenticate": "Bearer"}, b"give a token: Authorization: Bearer ...\n"
            )
        verb = request.method.lower()
        name = hashlib.sha256("\n".join((token.strip(), verb, request.path)).encode()).digest()
        status, until = self._known.get(name, (0, 0.0))
        if until <= self._host.monotonic():
            try:
                status = self._ask(token.strip(), verb, request.path)
            except (APIError, ConnectionLost) as error:
                log.warning("cannot ask the API server who may read metrics", path=request.path, error=error)
                return HTTPResponse(500, _TEXT, b"the API server cannot be asked; the log has the reason\n")
            if len(self._known) >= MOST_KEPT:
                self._known = {}
            self._known[name] = (status, self._host.monotonic() + KEPT)
        text = {401: b"the token is not valid\n", 403: b"the API server does not allow this path\n"}.get(status)
        return None if text is None else HTTPResponse(status, _TEXT, text)

    def _ask(self, token: str, verb: str, path: str) -> int:
        found = self._review(_TOKEN_REVIEWS, {"token": token})
        if not found.get("authenticated"):
            return 401
        user = found.get("user") or {}
        spec = {name: user[name] for name in ("uid", "groups", "extra") if user.get(name)}
        attributes = {"path": path, "verb": verb}
        spec |= {"user": user.get("username", ""), "nonResourceAttributes": attributes}
        return 0 if self._review(_ACCESS_REVIEWS, spec).get("allowed") else 403

    def _review(self, resource: Resource[dict[str, Any]], spec: Mapping[str, Any]) -> dict[str, Any]:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        headers = {"content-type": "application/json", "accept": "application/json"}
        request = HTTPRequest("POST", resource.path(), (), headers, msgspec.json.encode(body))
        answer = check(self._transport.request(request, self._host.monotonic() + PATIENCE))
        status: dict[str, Any] = msgspec.json.decode(answer.body).get("status") or {}
        return status
