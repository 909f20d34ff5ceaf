# SPDX-License-Identifier: Apache-2.0
"""A fake of an HTTP service on a loopback port, in real time, for HTTP clients whose transport cannot be replaced."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import NO_ANSWER, HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from controller_runtime.testing.outside.http import SAFE, Asked, HTTPService, Unanswered, Unconnected
from embedded_apiserver import LoopbackServer


class HTTPServer:
    """Serves a fake on a loopback port within the `with` block, for any HTTP client, such as aiohttp.

    It works in real time only, so its calls get no faults from `--perturb`: a simulation permits no sockets. If the
    fake raises `Unconnected` or `Unanswered`, the connection is closed without an answer.

    Args:
        service: The fake, or the result of `cluster.outside(HTTPService(…))` of a cluster in real time.
        host: The source of time, locks and threads; by default the real machine.

    Raises:
        UsageError: `service` is no `HTTPService`.

    Threads: one owner. Routes are called one at a time, on the thread of the server.
    """

    def __init__(self, service: HTTPService, host: Host | None = None) -> None:
        if not isinstance(service, HTTPService):
            raise UsageError("HTTPServer(…) takes an HTTPService, or what cluster.outside(…) makes of it")
        self._server = LoopbackServer(host or SystemHost(), _Handler(service))

    @property
    def url(self) -> str:
        """The base URL; valid within the `with` block."""
        return self._server.url

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.stop()


class _Handler:
    """Answers requests by the routes of a fake; an `http.Handler`."""

    def __init__(self, service: HTTPService) -> None:
        self._service = service

    def handle(self, request: HTTPRequest, on_ready: object = None) -> HTTPResponse:
        asked = Asked(request.method, request.path, dict(request.query), request.headers, request.body)
        try:
            answer = (self._service.read if asked.method in SAFE else self._service.write)(asked)
        except (Unconnected, Unanswered):
            return NO_ANSWER
        return HTTPResponse(
            answer.status, {name.lower(): value for name, value in answer.all_headers.items()}, answer.content
        )
