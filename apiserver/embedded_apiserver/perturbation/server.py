# SPDX-License-Identifier: Apache-2.0
"""The server as one perturbed client sees it: each write is answered by the run, and reads may show the past."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from apimachinery.http import Handler, HTTPRequest, HTTPResponse, Watch
from embedded_apiserver.perturbation.past import ANY_VERSION, NO_STREAMS, Past
from embedded_apiserver.routes import Route, find_route
from embedded_apiserver.server import APIServer

Answer = HTTPResponse | Watch
_READS = ("GET", "HEAD", "OPTIONS")
_COMMANDS = ("exec", "attach")


class Write(NamedTuple):
    """A write of the client.

    Attributes:
        method: The method of HTTP.
        route: The collection, the object or the subresource.
    """

    method: str
    route: Route

    @property
    def plural(self) -> str:
        """The plural of the kind."""
        return self.route.kind.plural

    @property
    def target(self) -> str:
        """The resource, the key and the subresource, such as `deployments.apps default/web status`."""
        return " ".join(filter(None, (self.route.kind.resource, self.route.key, self.route.subresource)))


class Filter(Protocol):
    """Changes the watches of one resource.

    Attributes:
        resource: The resource.
    """

    resource: str

    def over(self, watch: Watch, on_ready: Callable[[], None]) -> Watch:
        """Return a watch as it is to be seen."""


def is_of_any_version(query: Mapping[str, str]) -> bool:
    """Tell whether a list asks for no more than any state, however old; a lawful server may answer it with the past."""
    return query.get("resourceVersion") == ANY_VERSION


class PerturbedServer:
    """An `api.http.Handler` between a client and its server.

    Args:
        server: Knows the kinds.
        on_write: Answers a write; it calls the function that it is given to have the write carried out.
        shows_past: Tells by its query whether a list may be answered with the past. The default is lawful.
        inner: Answers the requests; None for `server`.

    Attributes:
        filter: Changes watches; None lets all pass.
        past: The resource that is listed as it was; None to list all as they are.
        watched: The resources that have been watched.
        watches: How many watches were asked for.
        listed: How often each resource was listed, pages and streamed lists not counted.
        any_version: The resources that have been listed at any version, by pages or streamed.
        requests: How many requests have come; exact only in a simulation, where one thread runs at a time.

    Threads: any.
    """

    def __init__(
        self,
        server: APIServer,
        on_write: Callable[[Write, Callable[[], Answer]], Answer],
        shows_past: Callable[[Mapping[str, str]], bool] = is_of_any_version,
        inner: Handler | None = None,
    ) -> None:
        self.filter: Filter | None = None
        self.past: Past | None = None
        self.watched: set[str] = set()
        self.watches = 0
        self.listed: Counter[str] = Counter()
        self.any_version: set[str] = set()
        self.requests = 0
        self._server, self._on_write, self._shows_past = server, on_write, shows_past
        self._inner: Handler = inner or server

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> Answer:
        """Return the response to `request`; see `Handler.handle`."""
        self.requests += 1
        route = find_route(self._server.kinds, request.path.rstrip("/"))
        if route is None:
            return self._inner.handle(request, on_ready)
        if "upgrade" in request.headers and route.subresource in _COMMANDS:  # a GET by its protocol alone
            return self._on_write(Write("POST", route), lambda: self._inner.handle(request, on_ready))
        if request.method not in _READS:
            return self._on_write(Write(request.method, route), lambda: self._inner.handle(request))
        query, resource = dict(request.query), route.kind.resource
        past = self.past  # read once: another thread ends it
        if past is not None and past.resource != resource:
            past = None
        if not route.name and is_of_any_version(query):  # a streamed list is a watch
            self.any_version.add(resource)
        if on_ready is not None and query.get("watch") in ("1", "true"):
            self.watched.add(resource)
            self.watches += 1
            if past is not None and query.get("sendInitialEvents") == "true":
                return NO_STREAMS
            return self._filtered(self._inner.handle(request, on_ready), resource, on_ready)
        if not route.name and "continue" not in query:
            self.listed[resource] += 1
        if not route.name and past is not None and self._shows_past(query):
            request = past.shown_to(request)
        return self._inner.handle(request, on_ready)

    def _filtered(self, answer: Answer, resource: str, on_ready: Callable[[], None]) -> Answer:
        over = self.filter
        if isinstance(answer, HTTPResponse) or over is None or over.resource != resource:
            return answer
        return over.over(answer, on_ready)


def unheard(answer: Answer) -> None:
    """End an answer whose client has ended: a command goes on, and its outcome is sent to no client."""
    if not isinstance(answer, HTTPResponse):
        answer.close()
