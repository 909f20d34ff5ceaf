# SPDX-License-Identifier: Apache-2.0
"""The transport over HTTP/1.1: kept connections for exchanges, a connection of its own for each stream.

Both come from one maker, on `http.client`'s parser: a plain connection gives what
a pool does not, one deadline for a whole exchange, and a `shutdown` that ends a blocked read.
Nothing is sent twice: a kept connection that looks dead is dropped before it is used.
"""

from __future__ import annotations

from http.client import HTTPResponse
from typing import TYPE_CHECKING

from controller_runtime.api import wire
from controller_runtime.client.http_authorization import Authorization
from controller_runtime.client.http_endpoint import endpoint_of
from controller_runtime.client.http_stream import HTTPStream
from controller_runtime.client.http_wire import FAILURES, Wire, headers_of, whole_answer
from controller_runtime.client.user_agent import user_agent
from controller_runtime.core.errors import ConnectionLost
from controller_runtime.core.host import Host

if TYPE_CHECKING:
    from kubernetes.client import Configuration

# API servers close connections that were idle for 90 s: ours are gone before, so that nothing is sent into the closing.
_IDLE_LIMIT = 60.0
# As many as there are workers that write at once, within reason; what is beyond is closed after its exchange.
_IDLE_KEPT = 32


class HTTPTransport:
    """A `transport.Transport` to the server of an official client `Configuration`.

    TLS, client certificates, proxies and credentials are what the configuration says;
    its files are read again for each connection, its token is asked for at most a second
    apart. Answers are never compressed, redirects are answers, and nothing is retried.

    Raises:
        UsageError: The configuration cannot be used; the message names the file or address.

    Threads: any.
    """

    def __init__(self, host: Host, configuration: Configuration) -> None:
        self._host = host
        self._endpoint = endpoint_of(configuration, user_agent(host))
        self._authorization = Authorization(host, configuration)
        # Guards the two below.
        self._lock = host.lock("http transport")
        self._in_hand: dict[Wire, None] = {}  # exchanges, and streams until their headers are here
        self._idle: list[Wire] = []  # the latest is used first, so that the others can grow old

    def __str__(self) -> str:
        return str(self._endpoint)

    def request(self, request: wire.HTTPRequest, deadline: float) -> wire.HTTPResponse:
        """See `transport.Transport.request`."""
        self._host.leaving("http request")
        head = self._endpoint.head(request, self._authorization.header())
        connection = self._begin(self._kept() or Wire(self._host), deadline)
        reusable = False
        try:
            answer = self._ask(connection, head + request.body, request.method)
            response = whole_answer(answer)
            reusable = not answer.will_close
        except FAILURES as error:
            raise self._lost(request, connection, error) from error
        finally:
            self._give_back(connection, reusable)
        return response

    def stream(self, request: wire.HTTPRequest, deadline: float) -> HTTPStream:
        """See `transport.Transport.stream`."""
        self._host.leaving("http stream")
        head = self._endpoint.head(request, self._authorization.header())
        connection = self._begin(Wire(self._host), deadline)
        stream: HTTPStream | None = None
        try:
            answer = self._ask(connection, head + request.body, request.method)
            goes_on = answer.status == 200
            response = wire.HTTPResponse(200, headers_of(answer)) if goes_on else whole_answer(answer)
            stream = HTTPStream(self._host, connection, answer, response, f"{request.method} {request.path}")
        except FAILURES as error:
            raise self._lost(request, connection, error) from error
        finally:
            with self._lock:
                del self._in_hand[connection]
            if stream is None:
                connection.close()
        if not goes_on:
            stream.close()
        return stream

    def close(self) -> None:
        """See `transport.Transport.close`."""
        with self._lock:
            idle, self._idle = self._idle, []
            in_hand = [*self._in_hand]
        for connection in idle:
            connection.close()
        for connection in in_hand:
            connection.shut_down()

    def _ask(self, connection: Wire, data: bytes, method: str) -> HTTPResponse:
        if not connection.is_made:
            self._endpoint.connect(connection)
        connection.send(data)
        return connection.answer(method)

    def _kept(self) -> Wire | None:
        """A kept connection that seems alive; those that do not are closed on the way."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return None
            if self._host.monotonic() - connection.idle_since < _IDLE_LIMIT and connection.is_quiet():
                return connection
            connection.close()

    def _begin(self, connection: Wire, deadline: float) -> Wire:
        connection.deadline = deadline
        with self._lock:
            self._in_hand[connection] = None
        return connection

    def _give_back(self, connection: Wire, reusable: bool) -> None:
        connection.idle_since = self._host.monotonic()
        with self._lock:
            del self._in_hand[connection]
            kept = reusable and len(self._idle) < _IDLE_KEPT
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()

    def _lost(self, request: wire.HTTPRequest, connection: Wire, error: BaseException) -> ConnectionLost:
        reason = connection.why(error)
        return ConnectionLost(f"{request.method} {request.path}: no answer from {self._endpoint}: {reason}")
