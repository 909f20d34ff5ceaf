# SPDX-License-Identifier: Apache-2.0
"""The API server as a perturbed operator sees it, on threads of the real machine."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from controller_runtime.testing.perturbation.others.triggers import kind_of
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, Run, Sent
from embedded_apiserver import APIServer, Route, find_route
from embedded_apiserver.perturbation import ANY_VERSION, NO_STREAMS, UNREAD, AtWrite, Gate, as_of, gated

WRITER: ContextVar[tuple[str, int]] = ContextVar("writer", default=(OTHER, 0))
"""The writer of the change that the present thread commits, and the number of its write."""
_READS = ("GET", "HEAD", "OPTIONS")


class OperatorsServer:
    """An `api.http.Handler` between an operator and its server.

    Args:
        host: The lock.
        server: The server.
        calm: The calm run, by which writes are told; None in a calm run.
        trigger: The write at which the operator ends; None for none.
        crash: Ends the operator.

    Attributes:
        run: Gets what the operator sends.
        gate: Holds watches; None lets all pass.
        past: The resource that is listed as it was, and the version; None for none.
        fired: Whether the operator was ended by `trigger`.
        watches: The watches so far, at least.
        asked_at: When the last request came, in monotonic seconds.

    Threads: any.
    """

    def __init__(
        self, host: Host, server: APIServer, calm: Run | None, trigger: AtWrite | None, crash: Callable[[], None]
    ) -> None:
        self.run = Run()
        self.gate: Gate | None = None
        self.past: tuple[str, int] | None = None
        self.fired = False
        self.watches = 0
        self.asked_at = host.monotonic()
        self._host, self._server, self._calm, self._trigger, self._crash = host, server, calm, trigger, crash
        # Guards the writes of `run`, and how many of each kind there were.
        self._lock = host.lock("operator's server")
        self._kinds: Counter[str] = Counter()

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Return the response to `request`; see `Handler.handle`."""
        self.asked_at = self._host.monotonic()
        route = find_route(self._server.kinds, request.path.rstrip("/"))
        if route is None or route.kind.plural in UNREAD:
            return self._server.handle(request, on_ready)
        if request.method not in _READS:
            return self._write(request, route)
        query = dict(request.query)
        is_any = query.get("resourceVersion") == ANY_VERSION
        resource = route.kind.resource
        if not route.name and is_any:
            self.run.any_version.add(resource)
        past = self.past if self.past is not None and self.past[0] == resource else None
        if on_ready is not None and query.get("watch") in ("1", "true"):
            self.run.watched.add(resource)
            self.watches += 1
            if past is not None and query.get("sendInitialEvents") == "true":
                return NO_STREAMS
            return gated(self._server.handle(request, on_ready), self.gate, resource, on_ready)
        if not route.name and past is not None and is_any:  # a list of the newest state may not be answered by an old
            request = as_of(request, past[1])
        return self._server.handle(request, on_ready)

    def _write(self, request: HTTPRequest, route: Route) -> HTTPResponse | Watch:
        target = " ".join(part for part in (route.kind.resource, route.key, route.subresource) if part)
        trigger = self._trigger
        with self._lock:
            sent = Sent(len(self.run.sent) + 1, request.method, target)
            self.run.sent.append(sent)
            kind = kind_of(sent, self._calm or self.run)
            self._kinds[kind] += 1
            is_due = (
                trigger is not None
                and not self.fired
                and (kind, self._kinds[kind])
                == (
                    trigger.what,
                    trigger.occurrence,
                )
            )
            self.fired = self.fired or is_due
        if is_due and trigger is not None and not trigger.landed:
            self._crash()
            return HTTPResponse(503)  # its reader is gone
        with writing(MANAGER, sent.number):
            answer = self._server.handle(request)
        if is_due:
            self._crash()
        return answer


@contextlib.contextmanager
def writing(writer: str, number: int) -> Iterator[None]:
    """Say for the block which writer the changes of this thread are of."""
    token = WRITER.set((writer, number))
    try:
        yield
    finally:
        WRITER.reset(token)
