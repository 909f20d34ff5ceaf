# SPDX-License-Identifier: Apache-2.0
"""HTTP around a synchronous handler: aiohttp parses requests, the handler answers them.

The handler is called on the event loop's thread, which is cheapest, unless it declares a request heavy: that one
is answered on a worker's thread, so that it does not delay other requests. A body is read only if the head of the
request authenticates the client, so that others cannot make the server hold bodies in memory.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse
from aiohttp.web_server import Server

from apimachinery.host import Host
from apimachinery.http import NO_ANSWER, Handler, HTTPRequest, HTTPResponse, Screen, Watch
from embedded_apiserver.shell.listener import Connections, Listener, connection_limit, reserve
from embedded_apiserver.shell.log import ServerLog
from embedded_apiserver.shell.request import Bodies, body_at_hand, headers_of, read_body, request_of
from embedded_apiserver.shell.sending import PENDING_LIMIT, Sender, cut, short_response
from embedded_apiserver.shell.upgrading import Upgrading, is_upgrade
from embedded_apiserver.shell.watching import Watcher, Watches
from embedded_apiserver.shell.workers import Busy, Workers

# The most bytes of a request's first line and of one header, and the most headers. Selectors and tokens can be long.
_LINE_LIMIT = 64 * 1024
_HEADER_LIMIT = 8 * 1024
_HEADERS = 64
# Threads for heavy requests, and the most that wait for each pool. Reads have a thread of their own, because writes can
# take longer.
_READERS, _WRITERS = 1, 2
_WAITING = 64
# Threads for requests that call webhooks: they wait more than they work, and a webhook may ask this server in turn.
_CALLERS = 32
# Seconds that requests in progress have when the shell stops, and after that the threads.
_GRACE = 0.5
_JOIN_TIMEOUT = 0.1
# Passes of the event loop in which a watch that ends writes its last bytes.
_PASSES = 4

_TEXT = {"content-type": "text/plain; charset=utf-8"}
_LATE = HTTPResponse(408, _TEXT, b"the body did not arrive\n")
# The text of a real server.
_BUSY = HTTPResponse(429, {**_TEXT, "retry-after": "1"}, b"Too many requests, please try again later.\n")


class Shell:
    """Serves a `Handler` over HTTP.

    Threads: only the event loop's. The handler is called on that thread, and for slow requests on others. It may call
    `on_ready` on any thread.
    """

    def __init__(self, host: Host, handler: Handler) -> None:
        self._host = host
        self._handler = handler
        self._screen = handler if isinstance(handler, Screen) else None
        self._bodies = Bodies()
        self._sender = Sender()
        self._readers = Workers(host, "reads", _READERS, _WAITING, _drop)
        self._writers = Workers(host, "writes", _WRITERS, _WAITING, _drop)
        self._callers = Workers(host, "calls", _CALLERS, _WAITING, _drop)
        self._aiohttp: _Server | None = None
        self._listener: Listener | None = None
        self._connections: Connections
        self._watches: Watches

    async def start(
        self, *, port: int = 0, context: ssl.SSLContext | None = None, sock: socket.socket | None = None
    ) -> int:
        """Start to accept connections and return the port.

        Args:
            port: The port of 127.0.0.1; 0 lets the system choose one.
            context: The TLS context; None for plain HTTP.
            sock: A bound socket to use instead of `port`; it is closed at the end.

        Raises:
            OSError: The port is in use or not allowed.
        """
        loop = asyncio.get_running_loop()
        listener = Listener(reserve(port) if sock is None else sock)
        self._watches = Watches(self._host, loop)
        self._connections = Connections(loop, connection_limit())
        self._aiohttp = _Server(self._connections, self._serve)
        self._listener = listener
        return listener.accept(self._connections, self._aiohttp, context)

    async def cut(self) -> None:
        """End the watches, and abort the connections with a request in progress. Idle connections stay open."""
        self._watches.end()
        for _ in range(_PASSES):
            await asyncio.sleep(0)
        self._connections.abort_busy()

    async def stop(self) -> None:
        """Stop accepting connections, end the watches, finish the requests in progress, and close, within about a
        second.

        A slow request on another thread cannot be cancelled. If it takes longer, its thread ends later by itself, and
        its response is dropped.
        """
        if self._listener is None or self._aiohttp is None:
            return
        self._listener.close()
        self._connections.close()
        self._watches.finish()
        self._aiohttp.pre_shutdown()  # closes idle connections; the others have the grace period
        await self._aiohttp.shutdown(_GRACE)
        self._connections.abort()
        for workers in (self._readers, self._writers, self._callers):
            workers.stop()
        await asyncio.sleep(0)  # lets the tasks of cancelled jobs run, before the threads are joined
        for workers in (self._readers, self._writers, self._callers):
            workers.join(_JOIN_TIMEOUT)

    async def _serve(self, request: BaseRequest) -> StreamResponse:
        headers = headers_of(request)
        known = self._screen is None or self._screen.knows(headers)
        connections, last = self._connections, False
        watcher = Upgrading(self._watches.loop) if is_upgrade(request) else Watcher(self._watches)
        connections.begin(request.protocol, known=known)
        try:
            if not known:  # the answer does not depend on the body, which is not read: the connection ends after it
                last = request.can_read_body
                answer = self._handler.handle(request_of(request, headers), watcher.on_ready)
            elif (body := body_at_hand(request)) is None:
                answer, last = await self._answer_late_body(request, headers, watcher)
            else:
                answer = await self._answer(request_of(request, headers, body), watcher)
            if not isinstance(answer, HTTPResponse):
                return await watcher.serve(request, answer)
            if answer is NO_ANSWER:
                return cut(request)
            return short_response(request, answer, last=last) or await self._sender.send(request, answer, last=last)
        finally:
            connections.end(request.protocol)

    async def _answer_late_body(
        self, request: BaseRequest, headers: dict[str, str], watcher: Watcher | Upgrading
    ) -> tuple[HTTPResponse | Watch, bool]:
        """Return the answer to a request whose body has not arrived with its head, and whether to close the connection.

        It is closed if the body was not read completely, because the rest would be taken for the next request.
        """
        reserved = self._bodies.reserve(request)
        if reserved is None:
            return _BUSY, True
        try:
            asked = request_of(request, headers, await read_body(request))
            return await self._answer(asked, watcher), False
        except TimeoutError:
            return _LATE, True
        finally:
            self._bodies.release(reserved)

    async def _answer(self, asked: HTTPRequest, watcher: Watcher | Upgrading) -> HTTPResponse | Watch:
        """Return the answer, of a worker's thread if it may take long; 429 if too many requests wait for one."""
        screen = self._screen
        if screen is None:
            return self._handler.handle(asked, watcher.on_ready)
        try:
            if screen.calls_out(asked):
                return await self._callers.do(partial(self._handler.handle, asked, watcher.on_ready))
            if not screen.is_heavy(asked):
                return self._handler.handle(asked, watcher.on_ready)
            is_read = asked.method in ("GET", "HEAD")
            workers, work = (self._readers, self._read) if is_read else (self._writers, self._handler.handle)
            return await workers.do(partial(work, asked, watcher.on_ready))
        except Busy:
            return _BUSY

    def _read(self, asked: HTTPRequest, on_ready: Callable[[], None]) -> HTTPResponse | Watch:
        """Return the answer to a heavy read, or 429 if too many bytes wait for slow clients already. Threads: any.

        The check is here and not at the request's arrival, because the read may have waited for its thread.
        """
        return _BUSY if self._sender.pending > PENDING_LIMIT else self._handler.handle(asked, on_ready)


class _Server(Server):
    """The HTTP server of aiohttp, which reports the begin and the end of each connection to `Connections`."""

    def __init__(self, connections: Connections, handler: Callable[[BaseRequest], Awaitable[StreamResponse]]) -> None:
        super().__init__(
            handler,
            handler_cancellation=True,
            access_log=None,
            logger=ServerLog(),
            auto_decompress=False,
            lingering_time=1.0,
            max_line_size=_LINE_LIMIT,
            max_field_size=_HEADER_LIMIT,
            max_headers=_HEADERS,
        )
        self._observer = connections

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self._observer.made(handler, transport)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._observer.lost(handler)


def _drop(answer: HTTPResponse | Watch) -> None:
    """Close an answer that will not be sent: a watch would stay open otherwise."""
    if not isinstance(answer, HTTPResponse):
        answer.close()


async def serve(
    shell: Shell,
    until: asyncio.Event,
    on_ready: Callable[[int], None],
    *,
    port: int = 0,
    context: ssl.SSLContext | None = None,
    sock: socket.socket | None = None,
) -> None:
    """Serve until `until` is set. `on_ready` is called with the port when connections are accepted.

    Raises:
        OSError: The port is in use or not allowed.
    """
    try:
        on_ready(await shell.start(port=port, context=context, sock=sock))
        await until.wait()
    finally:
        await shell.stop()
