# SPDX-License-Identifier: Apache-2.0
"""A small HTTP server for probes and scrapes: short GET requests, one per connection, on one thread; and a few streams.

It bounds the number of connections, how long each lasts and how many bytes it sends. A peer that sends nothing, or
does not read its answer, cannot keep others from theirs: each path has slots of its own, the oldest connection
makes way for the next, and connections are accepted in the order in which they come.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Protocol, Self

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.stop import Stop, spawn
from controller_runtime.api.http_text import encoded_response, parsed_head, stream_head
from controller_runtime.core.slots import Drop, Slots
from controller_runtime.manager.host_names import names_this_machine

log = get_logger(__name__)

MOST_SILENT = 64
"""Connections at a time whose request has not arrived yet; for one more the oldest is dropped."""

MOST_ANSWERS = 16
"""Answers that are sent at the same time, for each path; for one more the oldest connection is dropped."""

GRACE = 0.1
"""Seconds that a connection has for its request before it may be dropped for a new one, which waits meanwhile."""

ACCEPT_AGAIN = 1.0
"""Seconds until the next attempt to accept a connection after one failed, as it does without a free descriptor."""

HEAD_PATIENCE = 2.0
"""Seconds within which the head of a request must arrive."""

PATIENCE = 5.0
"""Seconds that one connection may last."""

HEAD_LIMIT = 8192
"""Bytes of a request's head."""

MOST_STREAMS = 8
"""Streams at a time; one more is refused, because dropping the oldest would have two readers push each other out."""

STREAM_PERIOD = 1.0
"""Seconds between two parts of a stream, at least."""

STREAM_SHARE = 0.02
"""The part of the time that the parts of one stream may take: one of a large program comes less often."""


class Stream(Protocol):
    """An answer without an end: server-sent events."""

    def next(self) -> bytes:
        """Return the next part without waiting; called at most once per `STREAM_PERIOD`, on the server's thread."""


Answer = Callable[[HTTPRequest, bool], HTTPResponse | Stream]
"""Answers a request without waiting.

The flag is True if the request came from this machine, and named it in its Host header; see `host_names.py`.
"""


class Server:
    """Answers requests on a listening socket while the `with` block lasts; its end takes less than a second.

    Args:
        host: Its threads. It must be the real machine, because an event loop waits in the operating system.
        stop: Failed if the server's thread fails, as it does if an answer raises `SystemExit`.
        listener: A socket that listens; the caller closes it.
        answers: The function that answers, by the first segment of the path.
        name: A name of this machine that requests may use, besides its loopback names and the address of `listener`.

    Threads: one; the answers run on the server's own.
    """

    def __init__(
        self, host: Host, stop: Stop, listener: socket.socket, answers: Mapping[str, Answer], name: str = ""
    ) -> None:
        self._host = host
        self._stop = stop
        self._listener = listener
        self._answers = answers
        self._names = (name, str(listener.getsockname()[0]))
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._until = asyncio.Event()
        # The three below belong to the loop's thread. A connection is in `_silent` until its request has arrived, then
        # in the slots of its path; `""` is for requests that are refused.
        self._silent = Slots(MOST_SILENT, GRACE)
        self._answered = {name: Slots(MOST_ANSWERS) for name in ("", *answers)}
        self._connections: dict[asyncio.Task[None], Drop] = {}
        self._streams = 0

    def __enter__(self) -> Self:
        self._loop = self._runner.get_loop()
        self._thread = spawn(self._host, self._stop, f"http/{self._listener.getsockname()[1]}", self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, because the thread has failed
            self._loop.call_soon_threadsafe(self._until.set)
        self._thread.join_until(None)

    def _run(self) -> None:
        with self._runner:
            try:
                self._runner.run(self._serve())
            finally:
                for task in self._connections:  # one that ended the thread is the stop's failure, not told of again
                    if task.done() and not task.cancelled():
                        task.exception()

    async def _serve(self) -> None:
        # A copy, because the loop closes the socket that it watches, and the caller closes its own.
        with self._listener.dup() as listener:
            listener.setblocking(False)
            self._listen(listener)
            await self._until.wait()
            self._loop.remove_reader(listener)
            for drop in self._connections.values():
                drop()
            if self._connections:
                await asyncio.wait(self._connections)

    def _listen(self, listener: socket.socket) -> None:
        if not self._until.is_set():
            self._loop.add_reader(listener, self._accept, listener)

    def _listen_after(self, seconds: float, listener: socket.socket) -> None:
        self._loop.remove_reader(listener)
        self._loop.call_later(seconds, self._listen, listener)

    def _accept(self, listener: socket.socket) -> None:
        """Accept the next connection. Until there is a slot for it, all wait in the operating system's queue."""
        now = self._host.monotonic()
        if (seconds := self._silent.wait_for_one(now)) > 0.0:
            return self._listen_after(seconds, listener)
        try:
            accepted, _ = listener.accept()
        except (BlockingIOError, ConnectionError):  # the peer has gone
            return None
        except OSError as error:  # as it does without a free descriptor
            log.warning("connection not accepted", error=error, retry_in=ACCEPT_AGAIN)
            return self._listen_after(ACCEPT_AGAIN, listener)
        accepted.setblocking(False)
        drop = partial(_end, accepted)
        self._silent.take(drop, now)
        task = self._loop.create_task(self._serve_one(accepted, drop))
        self._connections[task] = drop
        task.add_done_callback(self._connections.pop)
        return None

    async def _serve_one(self, accepted: socket.socket, drop: Drop) -> None:
        slots = self._silent
        reader = asyncio.StreamReader(HEAD_LIMIT)
        protocol = _Protocol(reader)
        transport: asyncio.Transport | None = None
        try:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(PATIENCE) as patience:
                    transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, accepted)
                    request = await self._request(reader)
                    slots.give_back(drop)
                    slots = self._answered[_purpose(request, self._answers)]
                    slots.take(drop, self._host.monotonic())
                    writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
                    answer = self._answer_to(request, _is_local(writer))
                    if isinstance(answer, bytes):
                        writer.write(answer)
                    else:
                        slots.give_back(drop)
                        patience.reschedule(None)
                        await self._send(answer, writer, reader)
                    writer.close()
                    await writer.wait_closed()
        finally:
            slots.give_back(drop)
            if transport is None:
                accepted.close()
            elif not protocol.is_lost:  # `abort` fails on a connection that has sent all and is closed
                transport.abort()  # not `close`, which would keep the answer for a peer that does not read

    async def _request(self, reader: asyncio.StreamReader) -> HTTPRequest | int | None:
        """Return the request, the status with which it is refused, or None if the peer has closed the connection."""
        try:
            async with asyncio.timeout(HEAD_PATIENCE):
                return parsed_head(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            return 431
        except asyncio.IncompleteReadError:
            return None
        except ValueError:  # not ASCII, not three words, not a path
            return 400

    async def _send(self, stream: Stream, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        """Send a stream until the peer goes, does not read, or the server ends."""
        ends = [asyncio.ensure_future(self._until.wait()), asyncio.ensure_future(reader.read(1))]
        self._streams += 1
        try:
            writer.write(stream_head())
            while not any(end.done() for end in ends):
                began = self._host.monotonic()
                writer.write(self._part_of(stream))
                pause = max(STREAM_PERIOD, (self._host.monotonic() - began) / STREAM_SHARE)
                async with asyncio.timeout(PATIENCE):
                    await writer.drain()
                await asyncio.wait(ends, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams -= 1
            for end in ends:
                end.cancel()

    def _part_of(self, stream: Stream) -> bytes:
        try:
            return stream.next()
        except Exception:  # a part ends here, the stream does not: a comment, which a browser ignores
            log.exception("part of a stream failed")
            return b": failed\n\n"

    def _answer_to(self, request: HTTPRequest | int | None, is_local: bool) -> bytes | Stream:
        match request:
            case None:
                return b""
            case int():
                return encoded_response(HTTPResponse(request))
        is_trusted = is_local and names_this_machine(request.headers.get("host", ""), self._names)
        answer = self._answer(request, is_trusted)
        if not isinstance(answer, HTTPResponse):
            if self._streams < MOST_STREAMS and request.method == "GET":
                return answer
            answer = HTTPResponse(503, {"retry-after": "5"}, b"too many streams are open: close another page\n")
        return encoded_response(answer, with_body=request.method != "HEAD")

    def _answer(self, request: HTTPRequest, is_local: bool) -> HTTPResponse | Stream:
        answer = self._answers.get(request.path[1:].partition("/")[0])
        if answer is None:
            return HTTPResponse(404)
        if request.method not in ("GET", "HEAD"):
            return HTTPResponse(405, {"allow": "GET, HEAD"})
        try:
            return answer(request, is_local)
        except Exception:  # a request ends here, the server does not
            log.exception("request failed", path=request.path)
            return HTTPResponse(500)


def _end(connection: socket.socket) -> None:
    """End a connection in both directions, so that its task ends: its reads and writes fail from then on."""
    with contextlib.suppress(OSError):  # the peer has ended it
        connection.shutdown(socket.SHUT_RDWR)


def _purpose(request: HTTPRequest | int | None, answers: Mapping[str, Answer]) -> str:
    """Return the name of the slots for an answer: the first segment of a known path, or `""` for refusals."""
    name = request.path[1:].partition("/")[0] if isinstance(request, HTTPRequest) else ""
    return name if name in answers else ""


class _Protocol(asyncio.StreamReaderProtocol):
    """Knows whether its connection is closed. Threads: one, the event loop's."""

    is_lost = False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        super().connection_lost(exc)


def _is_local(writer: asyncio.StreamWriter) -> bool:
    name = writer.get_extra_info("peername")
    if name is None:  # the peer left before its address was read
        return False
    peer = ipaddress.ip_address(name[0].partition("%")[0])
    return peer.is_loopback or bool(peer.version == 6 and peer.ipv4_mapped and peer.ipv4_mapped.is_loopback)
