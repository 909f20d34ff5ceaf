# SPDX-License-Identifier: Apache-2.0
"""The server as the manager sees it: it counts the manager's writes, and carries out the plan of the run."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from controller_runtime.client.listwatch import ANY_VERSION
from controller_runtime.testing.perturbation.record import Sent
from controller_runtime.testing.perturbation.world import LEFT_OUT
from embedded_apiserver import APIServer, Route, find_route
from embedded_apiserver.perturbation import NO_STREAMS, Gate, as_of, gated

_READS = ("GET", "HEAD", "OPTIONS")


class PerturbedServer:
    """An `api.http.Handler` between the manager and its server.

    Args:
        server: The server.
        acting: Called with the number of a write, with a function that carries it out and returns its answer.
        crash: Ends the manager.

    Attributes:
        sent: The writes so far.
        watched: The resources that have been watched.
        any_version: The resources that have been listed at any version.
        requests: How many requests have come.
        gate: The gate of watches; None lets all pass.
        past: The resource that is listed as it was, and its version; None to list all as they are.
        crash_at: The number of the write at which the manager ends, and whether it is carried out; None for none.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(
        self,
        server: APIServer,
        acting: Callable[[int, Callable[[], HTTPResponse | Watch]], HTTPResponse | Watch],
        crash: Callable[[], None],
    ) -> None:
        self.sent: list[Sent] = []
        self.watched: set[str] = set()
        self.any_version: set[str] = set()
        self.requests = 0
        self.gate: Gate | None = None
        self.past: tuple[str, int] | None = None
        self.crash_at: tuple[int, bool] | None = None
        self._server = server
        self._acting = acting
        self._crash = crash

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Return the response to `request`; see `Handler.handle`."""
        self.requests += 1
        route = find_route(self._server.kinds, request.path.rstrip("/"))
        if route is None or route.kind.plural in LEFT_OUT:
            return self._server.handle(request, on_ready)
        if request.method not in _READS:
            return self._write(request, route)
        query = dict(request.query)
        if not route.name and query.get("resourceVersion") == ANY_VERSION:
            self.any_version.add(route.kind.resource)
        if on_ready is not None and query.get("watch") in ("1", "true"):
            return self._watch(request, route.kind.resource, on_ready)
        if not route.name and self.past is not None and self.past[0] == route.kind.resource:
            request = as_of(request, self.past[1])
        return self._server.handle(request, on_ready)

    def _write(self, request: HTTPRequest, route: Route) -> HTTPResponse | Watch:
        number = len(self.sent) + 1
        target = " ".join(part for part in (route.kind.resource, route.key, route.subresource) if part)
        self.sent.append(Sent(number, request.method, target))
        at, landed = self.crash_at or (0, False)
        if number == at and not landed:
            self._crash()
            return HTTPResponse(503)  # its reader is gone
        answer = self._acting(number, lambda: self._server.handle(request))
        if number == at:
            self._crash()
        return answer

    def _watch(self, request: HTTPRequest, resource: str, on_ready: Callable[[], None]) -> HTTPResponse | Watch:
        self.watched.add(resource)
        query = dict(request.query)
        if self.past is not None and self.past[0] == resource and query.get("sendInitialEvents") == "true":
            return NO_STREAMS
        return gated(self._server.handle(request, on_ready), self.gate, resource, on_ready)
