# SPDX-License-Identifier: Apache-2.0
"""The server as one perturbed client sees it: its writes may be answered otherwise, and its reads may show an old
state.
"""

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
    """A write request of the client.

    Attributes:
        method: The HTTP method.
        route: The collection, object or subresource in the path.
    """

    method: str
    route: Route

    @property
    def plural(self) -> str:
        """The plural of the object's kind."""
        return self.route.kind.plural

    @property
    def target(self) -> str:
        """The resource, the key and the subresource as one text, such as `deployments.apps default/web status`."""
        return " ".join(filter(None, (self.route.kind.resource, self.route.key, self.route.subresource)))


class Filter(Protocol):
    """An object that changes the watches of one resource.

    Attributes:
        resource: The resource.
    """

    resource: str

    def over(self, watch: Watch, on_ready: Callable[[], None]) -> Watch:
        """Return a watch that shows the lines of `watch` to the client, with changes."""


def is_of_any_version(query: Mapping[str, str]) -> bool:
    """Return whether a list accepts any state, however old (`resourceVersion=0`), so that a correct server may show an
    old one.
    """
    return query.get("resourceVersion") == ANY_VERSION


class PerturbedServer:
    """An `api.http.Handler` between a client and its server, which can change writes, watches and lists.

    Args:
        server: The server, which knows the kinds.
        on_write: A function that answers a write; it calls its second argument to carry out the write.
        shows_past: A function of the query that returns True if a list may show an old state. With the default, only
            lists of any version do.
        inner: Answers the requests; None for `server`.

    Attributes:
        filter: Changes watches; None for no change.
        past: The resource whose lists show an old state; None for none.
        watched: The resources that have been watched.
        watches: The number of watch requests.
        listed: The number of lists of each resource, without further pages and streamed lists.
        any_version: The resources that have been listed with `resourceVersion=0`, in pages or as a stream.
        requests: The number of requests; exact only in a simulation, where one thread runs at a time.

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
        """Return the response to `request`, perturbed where `on_write`, `filter` or `past` require that."""
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
    """Close the response to a client that has ended. A command goes on, but its result is not sent."""
    if not isinstance(answer, HTTPResponse):
        answer.close()
