# SPDX-License-Identifier: Apache-2.0
"""A small HTTP server for probes and scrapes: short GET requests, one to a connection, on one thread.

It bounds all that a peer decides: how many connections there are, how long each lasts
and how much it says. Nobody outside needs more; it is no server for anything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import http
import ipaddress
import socket
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

MOST_CONNECTIONS = 64
"""At a time; one more is closed at once."""

PATIENCE = 5.0
"""Seconds that one connection may last."""

HEAD_LIMIT = 8192
"""Bytes of a request's head."""

Answer = Callable[[HTTPRequest, bool], HTTPResponse]
"""Answers a request, without waiting; the flag says whether it came from this machine."""


def bind(address: str) -> socket.socket:
    """Listen on `HOST:PORT`, or on `:PORT` of every interface; port 0 is any that is free.

    Raises:
        UsageError: It is no such address, or cannot be had.
    """
    name, colon, port = address.rpartition(":")
    name = name.removeprefix("[").removesuffix("]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"cannot serve on {address!r}: give HOST:PORT such as 127.0.0.1:8080, or 0 to serve nothing")
    try:
        if not name and socket.has_dualstack_ipv6():
            return socket.create_server(("", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
        family = socket.AF_INET6 if ":" in name else socket.AF_INET
        return socket.create_server((name, int(port)), family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).lower().partition(" (")[0]
        why = "it is in use" if error.errno == errno.EADDRINUSE else reason
        raise UsageError(f"cannot serve on {address}: {why}; give another address, or 0 to serve nothing") from error


class Server:
    """Answers requests on a listening socket while the `with` block lasts; it ends within a second.

    Args:
        host: Must be the real machine: an event loop waits in the system, not in the host.
        listener: Listens already; stays its owner's to close.
        answers: By the first segment of the path.

    Threads: one owner; answers are made on the server's own.
    """

    def __init__(self, host: Host, listener: socket.socket, answers: Mapping[str, Answer]) -> None:
        self._host = host
        self._listener = listener
        self._answers = answers
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._until = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()  # the loop's own

    def __enter__(self) -> Self:
        self._loop = self._runner.get_loop()
        self._thread = self._host.spawn(f"http/{self._listener.getsockname()[1]}", self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._loop.call_soon_threadsafe(self._until.set)
        self._thread.join_until(None)

    def _run(self) -> None:
        with self._runner:
            self._runner.run(self._serve())

    async def _serve(self) -> None:
        # The loop closes what it listens on, and the owner does as well.
        listener = self._listener.dup()
        server = await asyncio.start_server(self._connected, sock=listener, limit=HEAD_LIMIT)
        await self._until.wait()
        # Not closed yet: asyncio forgets connections that it has accepted and not begun when their server closes.
        self._loop.remove_reader(listener)
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for connection in self._connections:  # those that have begun; the others end as they begin
                connection.cancel()
            await asyncio.wait(others)
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if self._until.is_set() or len(self._connections) >= MOST_CONNECTIONS:
                return
            self._connections.add(task)
            with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(PATIENCE):
                    writer.write(await self._exchange(reader, _is_local(writer)))
                    writer.close()
                    await writer.wait_closed()
        finally:
            self._connections.discard(task)
            writer.transport.abort()  # for a peer that does not read, nothing is kept

    async def _exchange(self, reader: asyncio.StreamReader, is_local: bool) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
            split = urlsplit(target)
        except asyncio.LimitOverrunError:
            return _encoded(HTTPResponse(431))
        except asyncio.IncompleteReadError:
            return b""
        except ValueError:  # not ASCII, not three words, not a path
            return _encoded(HTTPResponse(400))
        query = tuple(parse_qsl(split.query, keep_blank_values=True))
        response = self._answer(HTTPRequest(method, unquote(split.path), query), is_local)
        return _encoded(response, with_body=method != "HEAD")

    def _answer(self, request: HTTPRequest, is_local: bool) -> HTTPResponse:
        answer = self._answers.get(request.path[1:].partition("/")[0])
        if answer is None:
            return HTTPResponse(404)
        if request.method not in ("GET", "HEAD"):
            return HTTPResponse(405, {"allow": "GET, HEAD"})
        try:
            return answer(request, is_local)
        except Exception:  # a request ends here, as a reconcile does
            log.exception("request failed", path=request.path)
            return HTTPResponse(500)


def _is_local(writer: asyncio.StreamWriter) -> bool:
    peer = ipaddress.ip_address(writer.get_extra_info("peername")[0].partition("%")[0])
    return peer.is_loopback or bool(peer.version == 6 and peer.ipv4_mapped and peer.ipv4_mapped.is_loopback)


def _encoded(response: HTTPResponse, *, with_body: bool = True) -> bytes:
    phrase = http.HTTPStatus(response.status).phrase
    body = response.body or f"{phrase.lower()}\n".encode()
    headers = {"content-type": "text/plain; charset=utf-8", **response.headers}
    headers |= {"content-length": str(len(body)), "connection": "close", "x-content-type-options": "nosniff"}
    lines = [f"HTTP/1.1 {response.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + (body if with_body else b"")
