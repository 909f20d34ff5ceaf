# SPDX-License-Identifier: Apache-2.0
"""The transport over HTTP/1.1: kept connections for exchanges, a connection of its own for each stream.

Both come from one maker, on `http.client`'s parser: a plain connection gives what
a pool does not, one deadline for a whole exchange, and a `shutdown` that ends a blocked read.
Nothing is done twice: a kept connection that looks dead is dropped before it is used.
"""

from __future__ import annotations

from http.client import HTTPResponse
from typing import TYPE_CHECKING

from controller_runtime.api import wire
from controller_runtime.client.http_authorization import Authorization, Identity
from controller_runtime.client.http_endpoint import endpoint_of
from controller_runtime.client.http_lookup import Lookup
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

    TLS, client certificates, proxies and credentials are what the configuration says. Its files
    are read again for each connection, and connections made with files that were replaced are
    not used again; its token is asked for at most a second apart. Answers are never compressed,
    redirects are answers, and nothing is retried, but in two cases in which nothing was done: a
    request that is answered 401 is sent once more if there are new credentials; and one for which
    a kept connection was dead is sent once on a new one, if it was not sent whole or only reads.

    Raises:
        UsageError: The configuration cannot be used; the message names the file or address.

    Threads: any.
    """

    def __init__(self, host: Host, configuration: Configuration) -> None:
        self._host = host
        self._endpoint = endpoint_of(configuration, user_agent(host))
        self._lookup = Lookup(host)
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
        identity = self._authorization.identity(deadline)
        response = self._exchange(request, identity, deadline)
        if response.status == 401 and (other := self._authorization.renewed(identity, deadline)):
            return self._exchange(request, other, deadline)
        return response

    def stream(self, request: wire.HTTPRequest, deadline: float) -> HTTPStream:
        """See `transport.Transport.stream`."""
        self._host.leaving("http stream")
        identity = self._authorization.identity(deadline)
        stream = self._begin_stream(request, identity, deadline)
        if stream.response.status == 401 and (other := self._authorization.renewed(identity, deadline)):
            return self._begin_stream(request, other, deadline)
        return stream

    def close(self) -> None:
        """See `transport.Transport.close`."""
        self._close_idle()
        with self._lock:
            in_hand = [*self._in_hand]
        for connection in in_hand:
            connection.shut_down()
        self._lookup.wake()
        self._authorization.give_up()

    def _exchange(self, request: wire.HTTPRequest, identity: Identity, deadline: float) -> wire.HTTPResponse:
        kept = self._kept(identity)
        if kept is not None:
            try:
                return self._ask(kept, request, identity, deadline)
            except ConnectionLost:
                if not kept.was_dead(request.method):
                    raise
        return self._ask(Wire(self._host), request, identity, deadline)

    def _ask(
        self, connection: Wire, request: wire.HTTPRequest, identity: Identity, deadline: float
    ) -> wire.HTTPResponse:
        """One exchange on a connection, which is kept if it can be used again."""
        is_reusable = False
        head = self._endpoint.head(request, identity.credential.header)
        self._take_in_hand(connection, deadline)
        try:
            answer = self._sent(connection, head + request.body, request.method, identity)
            response = whole_answer(answer)
            is_reusable = not answer.will_close and connection.is_in_step
        except FAILURES as error:
            raise self._lost(request, connection, error) from error
        finally:
            self._give_back(connection, is_reusable)
        return response

    def _begin_stream(self, request: wire.HTTPRequest, identity: Identity, deadline: float) -> HTTPStream:
        head = self._endpoint.head(request, identity.credential.header)
        connection = Wire(self._host)
        self._take_in_hand(connection, deadline)
        stream: HTTPStream | None = None
        try:
            answer = self._sent(connection, head + request.body, request.method, identity)
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

    def _sent(self, connection: Wire, data: bytes, method: str, identity: Identity) -> HTTPResponse:
        if not connection.is_made:
            self._endpoint.connect(connection, identity.credential.certificate, self._lookup)
            connection.made_for = identity.of_connection
        connection.send(data)
        return connection.answer(method)

    def _kept(self, identity: Identity) -> Wire | None:
        """A kept connection of this identity that seems alive; others are closed on the way."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return None
            is_young = self._host.monotonic() - connection.idle_since < _IDLE_LIMIT
            if is_young and connection.made_for == identity.of_connection and connection.is_quiet():
                return connection
            connection.close()

    def _take_in_hand(self, connection: Wire, deadline: float) -> None:
        connection.begin(deadline)
        with self._lock:
            self._in_hand[connection] = None

    def _give_back(self, connection: Wire, is_reusable: bool) -> None:
        connection.idle_since = self._host.monotonic()
        with self._lock:
            del self._in_hand[connection]
            kept = is_reusable and len(self._idle) < _IDLE_KEPT
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _lost(self, request: wire.HTTPRequest, connection: Wire, error: BaseException) -> ConnectionLost:
        self._close_idle()  # what ended this one may have ended all of them without a word
        reason = connection.why(error)
        return ConnectionLost(f"{request.method} {request.path}: no answer from {self._endpoint}: {reason}")
