# SPDX-License-Identifier: Apache-2.0
"""The transport over HTTP/1.1: kept connections for exchanges, a connection of its own for each stream.

Both come from one maker, on `http.client`'s parser: a plain connection gives what
a pool does not, one deadline for a whole exchange, and a `shutdown` that ends a blocked read.
Nothing is done twice: a kept connection that looks dead is dropped before it is used.
"""

from __future__ import annotations

from http.client import HTTPResponse
from typing import TYPE_CHECKING

from controller_runtime.api import http as wire
from controller_runtime.client.http.answer import LONGEST_ANSWER, begun_answer, headers_of, whole_answer
from controller_runtime.client.http.authorization import Authorization, Identity
from controller_runtime.client.http.connection import FAILURES, Connection, Exchange
from controller_runtime.client.http.endpoint import endpoint_of
from controller_runtime.client.http.lookup import Lookup
from controller_runtime.client.http.pool import Pool
from controller_runtime.client.http.stream import HTTPStream
from controller_runtime.client.user_agent import user_agent
from controller_runtime.core.errors import ConnectionLost
from controller_runtime.core.host import Host

if TYPE_CHECKING:
    from kubernetes.client import Configuration

_READING = ("GET", "HEAD")


class HTTPTransport:
    """A `transport.Transport` to the server of an official client `Configuration`.

    TLS, client certificates, proxies and credentials are what the configuration says. Its files
    are read again for each connection, and connections made with files that were replaced are
    not used again; its token is asked for at most a second apart. Answers are never compressed,
    redirects are answers, and nothing is retried, but in two cases in which nothing was done: a
    request that is answered 401 is sent once more if there are new credentials; and one for which
    a kept connection was dead is sent once on a new one, if it was not sent whole or only reads.

    Args:
        host: What it runs on.
        configuration: Where the server is, and who we are.
        longest_answer: Most bytes of one answer, streams apart; a longer one is given up as `ConnectionLost`.

    Raises:
        UsageError: The configuration cannot be used; the message names the file or address.
        ValueError: `longest_answer` is not positive.

    Threads: any.
    """

    def __init__(self, host: Host, configuration: Configuration, *, longest_answer: int = LONGEST_ANSWER) -> None:
        if longest_answer < 1:
            raise ValueError(f"longest_answer ({longest_answer}) must be positive")
        self._host = host
        self._longest = longest_answer
        self._endpoint = endpoint_of(configuration, user_agent(host))
        self._lookup = Lookup(host)
        self._authorization = Authorization(host, configuration)
        self._pool = Pool(host)

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
        self._pool.close_kept()
        self._pool.shut_down()
        self._lookup.give_up()
        self._authorization.give_up()

    def _exchange(self, request: wire.HTTPRequest, identity: Identity, deadline: float) -> wire.HTTPResponse:
        kept = self._pool.kept(identity.of_connection)
        if kept is not None:
            try:
                return self._ask(kept, request, identity, deadline)
            except ConnectionLost:
                if not _was_not_done(request, kept):
                    raise
        return self._ask(Connection(self._host, identity.of_connection), request, identity, deadline)

    def _ask(
        self, connection: Connection, request: wire.HTTPRequest, identity: Identity, deadline: float
    ) -> wire.HTTPResponse:
        """One exchange on a connection, which is kept if it can be used again."""
        head = self._endpoint.head(request, identity.credential.header)
        connection.begin(deadline)
        self._pool.take_in_hand(connection)
        try:
            answer = self._answer(connection, head + request.body, request.method, identity)
            return whole_answer(connection, answer, self._longest)
        except FAILURES as error:
            raise self._lost(request, connection, error) from error
        finally:
            self._pool.give_back(connection)

    def _begin_stream(self, request: wire.HTTPRequest, identity: Identity, deadline: float) -> HTTPStream:
        head = self._endpoint.head(request, identity.credential.header)
        connection = Connection(self._host, identity.of_connection)
        connection.begin(deadline)
        self._pool.take_in_hand(connection)
        try:
            answer = self._answer(connection, head + request.body, request.method, identity)
            goes_on = answer.status == 200
            response = wire.HTTPResponse(200, headers_of(answer)) if goes_on else whole_answer(connection, answer)
            connection.exchange = Exchange.STREAMED
        except FAILURES as error:
            raise self._lost(request, connection, error) from error
        finally:
            self._pool.give_back(connection)
        stream = HTTPStream(self._host, connection, answer, response, f"{request.method} {request.path}")
        if not goes_on:
            stream.close()
        return stream

    def _answer(self, connection: Connection, data: bytes, method: str, identity: Identity) -> HTTPResponse:
        if not connection.is_made:
            self._endpoint.connect(connection, identity.credential.certificate, self._lookup)
        connection.send(data)
        return begun_answer(connection, method)

    def _lost(self, request: wire.HTTPRequest, connection: Connection, error: BaseException) -> ConnectionLost:
        self._pool.close_kept()  # what ended this one may have ended all of them without a word
        reason = connection.why(error)
        return ConnectionLost(f"{request.method} {request.path}: no answer from {self._endpoint}: {reason}")


def _was_not_done(request: wire.HTTPRequest, connection: Connection) -> bool:
    """Whether what failed on a kept connection can be done on another, because it was not done on this one."""
    match connection.exchange:
        case _ if connection.is_shut:
            return False
        case Exchange.BEGUN:
            return True
        case Exchange.SENT:
            return request.method in _READING
        case _:
            return False
