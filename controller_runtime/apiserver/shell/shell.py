# SPDX-License-Identifier: Apache-2.0
"""HTTP around a synchronous server core: aiohttp parses, the core answers, on the event loop's thread.

A watch costs one suspended task and no switch to it: its lines go from the core
straight to the connection, all watches that an event concerns in one pass of the loop,
after the write that caused it was answered. A reader that lags is left behind, not buffered for.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable
from typing import Protocol

from aiohttp import web
from aiohttp.http import HttpVersion11

from controller_runtime.api.http import Handler, HTTPResponse, Watch
from controller_runtime.apiserver.shell.log import ServerLog
from controller_runtime.apiserver.shell.request import read
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

LOOPBACK = "127.0.0.1"

# Bytes of a request's first line and of one header: selectors and tokens can be long.
_LINE_LIMIT = 64 * 1024
# Seconds that a reader may leave a full buffer untouched before its connection is given up.
_STALL_LIMIT = 30.0
# Bytes of one watch that may wait in this process; what is beyond waits in the core's history, where it can expire.
_BUFFERED = 256 * 1024
# Lines of one take, and takes in one pass of the loop: a watch with much to say leaves time for others.
_LINES = 64
_TAKES = 2
# Bytes of an answer that are handed over at once: each layer below copies what it is given.
_PART = 256 * 1024
# Seconds that requests in hand get when the shell stops.
_GRACE = 0.5


class Shell:
    """Serves a `wire.Handler` on loopback.

    Threads: the event loop's, where the handler is called too. It may call `on_ready` from any.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._aiohttp: web.Server | None = None
        self._listener: asyncio.Server | None = None
        self._watches = _Watches()

    async def start(self, *, port: int = 0, context: ssl.SSLContext | None = None) -> int:
        """Begin to accept connections; the port, which the system picks for 0.

        Raises:
            OSError: The port is taken, or not allowed.
        """
        loop = asyncio.get_running_loop()
        self._watches.loop = loop
        self._watches.thread = threading.get_ident()
        self._aiohttp = web.Server(
            self._serve,
            handler_cancellation=True,
            access_log=None,
            logger=ServerLog(),
            auto_decompress=False,
            lingering_time=1.0,
            max_line_size=_LINE_LIMIT,
            max_field_size=_LINE_LIMIT,
        )
        self._listener = await loop.create_server(self._aiohttp, LOOPBACK, port, ssl=context, backlog=1024)
        bound: int = self._listener.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Accept no more, end the watches, answer what is in hand, close. Within a second."""
        if self._listener is not None:
            self._listener.close()
        self._watches.finish()
        if self._aiohttp is not None:
            transports = [connection.transport for connection in self._aiohttp.connections]
            self._aiohttp.pre_shutdown()  # which closes idle connections; the others get the grace
            await self._aiohttp.shutdown(_GRACE)
            for transport in transports:
                if transport is not None:
                    transport.abort()  # TLS would wait for the other side's farewell, which may never come
            await asyncio.sleep(0)  # in which they end

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            asked = await read(request)
        except TimeoutError:
            refused = web.Response(status=408, text="the body did not arrive\n")
            refused.force_close()
            return refused
        watcher = _Watcher(self._watches)
        answer = self._handler.handle(asked, watcher.on_ready)
        if isinstance(answer, HTTPResponse):
            if len(answer.body) > _PART and request.method != "HEAD":  # which has no body, whatever is written
                return await _in_parts(request, answer)
            return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
        return await watcher.serve(request, answer)


async def _in_parts(request: web.BaseRequest, answer: HTTPResponse) -> web.StreamResponse:
    """Answer as fast as the reader takes it."""
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.content_length = len(answer.body)
    await response.prepare(request)
    body = memoryview(answer.body)
    with contextlib.suppress(ConnectionError):  # the reader may go at any time
        for start in range(0, len(body), _PART):
            await response.write(body[start : start + _PART])
    return response


class _Watches:
    """The watches being served, and those of them with something to take. Threads: the loop's, but for `wake`."""

    loop: asyncio.AbstractEventLoop
    thread: int

    def __init__(self) -> None:
        self._open: dict[_Watcher, None] = {}
        self._due: dict[_Watcher, None] = {}
        # The line that was written last, and its chunk: one event's is the same for all whom it concerns.
        self._line = self._chunk = b""

    def add(self, watcher: _Watcher) -> None:
        self._open[watcher] = None

    def remove(self, watcher: _Watcher) -> None:
        self._open.pop(watcher, None)
        self._due.pop(watcher, None)

    def wake(self, watcher: _Watcher) -> None:
        if threading.get_ident() == self.thread:
            self.mark_due(watcher)
        else:
            self.loop.call_soon_threadsafe(self.mark_due, watcher)

    def mark_due(self, watcher: _Watcher) -> None:
        if not self._due:
            self.loop.call_soon(self._pump)
        self._due[watcher] = None

    def chunk(self, lines: list[bytes]) -> bytes:
        """The lines as a chunk of an answer."""
        if len(lines) > 1:
            return _chunk(b"".join(lines))
        if lines[0] is not self._line:
            self._line, self._chunk = lines[0], _chunk(lines[0])
        return self._chunk

    def finish(self) -> None:
        for watcher in tuple(self._open):
            watcher.finish()

    def _pump(self) -> None:
        due, self._due = self._due, {}
        for watcher in due:
            watcher.pump()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class _Connection(Protocol):
    """What a watch writes to: the part of `asyncio.Transport` that it uses."""

    def write(self, data: bytes) -> None: ...

    def get_write_buffer_size(self) -> int: ...

    def is_closing(self) -> bool: ...

    def abort(self) -> None: ...


class _Watcher:
    """One watch on its way to one reader. Threads: the loop's, but for `on_ready`."""

    def __init__(self, watches: _Watches) -> None:
        self._watches = watches
        self._watch: Watch | None = None  # until there is one, and once it is over, there is nothing to pump
        self._connection: _Connection | None = None
        self._chunked = True
        self._timer: asyncio.TimerHandle | None = None
        # Resolved to True at the end of the watch, to False when the reader lags; the task waits for it.
        self._turn: asyncio.Future[bool]

    def on_ready(self) -> None:
        self._watches.wake(self)

    async def serve(self, request: web.BaseRequest, watch: Watch) -> web.StreamResponse:
        response = web.StreamResponse(headers=watch.headers)
        try:
            writer = await response.prepare(request)
            connection = request.transport
            if writer is None or connection is None:
                return response
            connection.set_write_buffer_limits(_BUFFERED)
            self._watch, self._connection = watch, connection
            self._chunked = request.version >= HttpVersion11
            self._watches.add(self)
            while not await self._run():
                try:
                    async with asyncio.timeout(_STALL_LIMIT):
                        await writer.drain()
                except TimeoutError:
                    log.warning("a watch is given up, its reader has stopped reading", path=request.path)
                    connection.abort()
                    return response
            if not connection.is_closing():
                await response.write_eof()
        finally:
            self._watch = None
            self._watches.remove(self)
            self._cancel_timer()
            watch.close()
        return response

    async def _run(self) -> bool:
        """Serve until the end of the watch (True), or until the reader lags."""
        self._turn = asyncio.get_running_loop().create_future()
        self.pump()
        return await self._turn

    def finish(self) -> None:
        self._end_turn(True)

    def pump(self) -> None:
        """Hand over what the core has, as far as the reader takes it."""
        if self._watch is None or self._connection is None or self._turn.done():
            return
        for _ in range(_TAKES):
            if self._connection.is_closing():  # the reader is gone, and what is written to it too
                self._end_turn(True)
                return
            if self._connection.get_write_buffer_size() > _BUFFERED:
                self._end_turn(False)
                return
            lines, over = self._watch.take(_LINES)
            if lines:
                self._connection.write(self._watches.chunk(lines) if self._chunked else b"".join(lines))
            if over:
                self._end_turn(True)
                return
            if len(lines) < _LINES:
                if self._timer is None:  # one that fires early finds nothing and sets the next: cheaper than moving it
                    self._set_timer(self._watch.next_wake())
                return
        self._watches.mark_due(self)

    def _end_turn(self, over: bool) -> None:
        if not self._turn.done():
            self._turn.set_result(over)

    def _set_timer(self, seconds: float | None) -> None:
        if seconds is not None:
            self._timer = self._watches.loop.call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.pump()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def serve(
    handler: Handler,
    until: asyncio.Event,
    on_ready: Callable[[int], None],
    *,
    port: int = 0,
    context: ssl.SSLContext | None = None,
) -> None:
    """Serve until told; `on_ready` gets the port once connections are accepted.

    Raises:
        OSError: The port is taken, or not allowed.
    """
    shell = Shell(handler)
    try:
        on_ready(await shell.start(port=port, context=context))
        await until.wait()
    finally:
        await shell.stop()
