# SPDX-License-Identifier: Apache-2.0
"""The transport over HTTP/1.1: pooled connections for requests, and a connection of its own for each stream.

The connections are our own, because the pools of HTTP libraries offer neither one deadline for a whole exchange nor a
`shutdown` that ends a blocked read. No write is done twice: an idle connection that looks dead is closed before it is
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apimachinery import http as api
from apimachinery.errors import ConnectionLost
from apimachinery.host import Host
from controller_runtime.client.http.answer import LONGEST_ANSWER, Answer, begin_answer, whole_answer
from controller_runtime.client.http.authorization import Authorization, Identity
from controller_runtime.client.http.connection import Connection, Exchange
from controller_runtime.client.http.endpoint import endpoint_of
from controller_runtime.client.http.lookup import Lookup
from controller_runtime.client.http.messages import MessageCodec, MessageStream, check_handshake, with_handshake
from controller_runtime.client.http.pool import Pool
from controller_runtime.client.http.send_limit import SendLimit
from controller_runtime.client.http.stream import HTTPStream
from controller_runtime.client.transport import Stream, is_upgrade
from controller_runtime.client.user_agent import user_agent

if TYPE_CHECKING:
    from kubernetes.client import Configuration

    from controller_runtime.client.http.rest_config import RESTConfig

_READING = ("GET", "HEAD")  # methods that change nothing


class HTTPTransport:
    """A `transport.Transport` to the server of a `RESTConfig`, or of the official client's `Configuration`.

    TLS, client certificates, proxies and credentials come from the configuration. Its files are read again for each
    connection; connections made with replaced files are not used again. A token that can change is read again after a
    second. Answers are never compressed, and redirects are not followed.

    A request is sent again in two cases only, in which the server cannot have carried it out: it was answered 401 and
    there are new credentials, or an idle connection turned out to be dead before the whole request was sent. A read is
    also sent again if the idle connection died later, but before the answer began.

    Args:
        host: The source of time, threads and locks.
        configuration: The address of the server, and the credentials.
        longest_answer: The most bytes of one answer, except for streams; a longer answer raises `ConnectionLost`.

    Raises:
        UsageError: The configuration cannot be used; the message names the file or the address.
        ValueError: `longest_answer` is not positive.

    Threads: any.
    """

    def __init__(
        self, host: Host, configuration: RESTConfig | Configuration, *, longest_answer: int = LONGEST_ANSWER
    ) -> None:
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

    def request(self, request: api.HTTPRequest, deadline: float) -> api.HTTPResponse:
        """Send a request and return the answer; see `transport.Transport.request`."""
        self._host.leaving("http request")
        limit = SendLimit.of(self._host, deadline)
        identity = self._authorization.identity(deadline)
        response = self._send(request, identity, limit)
        if response.status == 401 and (other := self._authorization.renewed(identity, deadline)):
            return self._send(request, other, limit)
        return response

    def stream(self, request: api.HTTPRequest, deadline: float) -> Stream:
        """Send a request and return its answer as a stream; see `transport.Transport.stream`."""
        self._host.leaving("http stream")
        limit = SendLimit.of(self._host, deadline)
        identity = self._authorization.identity(deadline)
        stream = self._begin_stream(request, identity, limit)
        if stream.response.status == 401 and (other := self._authorization.renewed(identity, deadline)):
            return self._begin_stream(request, other, limit)
        return stream

    def close(self) -> None:
        """End all requests, and close all idle connections; see `transport.Transport.close`."""
        self._pool.close_idle()
        self._pool.shut_down()
        self._lookup.give_up()
        self._authorization.give_up()

    def _send(self, request: api.HTTPRequest, identity: Identity, limit: SendLimit) -> api.HTTPResponse:
        idle = self._pool.take_idle(identity.connection_key)
        if idle is not None:
            try:
                return self._exchange(idle, request, identity, limit)
            except ConnectionLost:
                if not _may_be_sent_again(request, idle):
                    raise
        return self._exchange(Connection(self._host, identity.connection_key), request, identity, limit)

    def _exchange(
        self, connection: Connection, request: api.HTTPRequest, identity: Identity, limit: SendLimit
    ) -> api.HTTPResponse:
        """Make one exchange on a connection, and return it to the pool."""
        head = self._endpoint.head(request, identity.credential.header)
        connection.begin(limit)
        self._pool.check_out(connection)
        try:
            answer = self._answer(connection, head + request.body, request.method, identity)
            return whole_answer(answer, self._longest)
        except OSError as error:
            raise self._lost(request, connection, error) from error
        finally:
            self._pool.check_in(connection)

    def _begin_stream(self, request: api.HTTPRequest, identity: Identity, limit: SendLimit) -> Stream:
        accepted, codec = "", None
        if is_upgrade(request):
            codec = MessageCodec()
            request, accepted = with_handshake(self._host, request)
        head = self._endpoint.head(request, identity.credential.header)
        connection, what = Connection(self._host, identity.connection_key), f"{request.method} {request.path}"
        connection.begin(limit)
        self._pool.check_out(connection)
        try:
            answer = self._answer(connection, head + request.body, request.method, identity, upgrades=bool(accepted))
            is_switched = answer.status == 101
            if is_switched:
                check_handshake(request, answer.headers, accepted)
            is_open = answer.status == 200
            response = api.HTTPResponse(200, answer.headers) if is_open or is_switched else whole_answer(answer)
            connection.exchange = Exchange.STREAMED
        except OSError as error:
            raise self._lost(request, connection, error) from error
        finally:
            self._pool.check_in(connection)
        if is_switched and codec is not None:
            return MessageStream(self._host, connection, codec, answer, what)
        stream = HTTPStream(self._host, connection, answer, response, what)
        if not is_open:
            stream.close()
        return stream

    def _answer(
        self, connection: Connection, data: bytes, method: str, identity: Identity, *, upgrades: bool = False
    ) -> Answer:
        if not connection.is_made:
            self._endpoint.connect(connection, identity.credential.certificate, self._lookup)
        connection.send(data)
        return begin_answer(connection, method, upgrades=upgrades)

    def _lost(self, request: api.HTTPRequest, connection: Connection, error: BaseException) -> ConnectionLost:
        self._pool.close_idle()  # a restart of the server or a proxy may have ended them all, without a sign of it
        reason = connection.why(error)
        return ConnectionLost(f"{request.method} {request.path}: no answer from {self._endpoint}: {reason}")


def _may_be_sent_again(request: api.HTTPRequest, connection: Connection) -> bool:
    """Return whether a request that failed on an idle connection can be sent on a new one, since it was not done."""
    match connection.exchange:
        case _ if connection.is_shut:  # we ended it ourselves
            return False
        case Exchange.BEGUN:
            return True
        case Exchange.SENT:
            return request.method in _READING
        case _:
            return False
