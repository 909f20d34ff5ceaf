# SPDX-License-Identifier: Apache-2.0
"""Serves webhooks over TLS: HTTP/1.1 with kept connections, one thread for each, and bounds for what a peer can hold.

A thread for each connection, because functions of webhooks may wait: then only their own connection does. An API server
keeps a few connections open and sends its reviews over those.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Self

from apimachinery.host import Host, Thread
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.stop import Stop, spawn
from controller_runtime.api.http_text import encoded_response, parsed_head

log = get_logger(__name__)

MOST_CONNECTIONS = 256
"""Connections at a time; for one more the one that has been idle longest is closed, or the new one if none is idle."""

HEAD_LIMIT = 16 * 1024
"""Bytes of a request's head."""

IDLE = 120.0
"""Seconds after which a connection without a request is closed; Go's clients close theirs after 90."""

PATIENCE = 10.0
"""Seconds for a TLS handshake, for the arrival of a request that has begun, and for a peer to take its answer."""

GRACE = 5.0
"""Seconds that requests in progress have when the server stops."""

LINGER, LINGER_BYTES = 2.0, 32 * 1024 * 1024
"""Seconds and bytes for the rest of a request that was refused before all of it had arrived."""

ACCEPT_AGAIN = 1.0
"""Seconds until the next attempt to accept a connection after one failed, as it does without a free descriptor."""

_CHUNK = 64 * 1024

Answer = Callable[[HTTPRequest], HTTPResponse]
"""Answers a request, on the thread of its connection; it may wait."""


class TLSServer:
    """Answers requests on a listening socket while the `with` block lasts.

    Args:
        host: Its threads and its clock; it must be the real machine.
        stop: Failed if the accepting thread fails.
        listener: A socket that listens; the caller closes it.
        context: Returns the TLS context of a new connection, so that a renewed certificate is presented from then on.
        answer: Answers.
        limit_of: Returns the most bytes of a body, by path; a longer one is refused unread, with status 413.

    Threads: one; the answers run on those of connections.
    """

    def __init__(
        self,
        host: Host,
        stop: Stop,
        listener: socket.socket,
        context: Callable[[], ssl.SSLContext],
        answer: Answer,
        limit_of: Callable[[str], int],
    ) -> None:
        self._host = host
        self._stop = stop
        self._listener = listener
        self._context = context
        self._answer = answer
        self._limit_of = limit_of
        self._lock = host.lock("webhook connections")
        # Guarded by the lock: each connection with its socket and, while it is idle, since when; in order of arrival.
        self._connections: dict[int, _Connection] = {}
        self._ends = False
        self._next = 0
        self._waker, self._woken = socket.socketpair()

    def __enter__(self) -> Self:
        port = self._listener.getsockname()[1]
        self._thread = spawn(self._host, self._stop, f"webhooks/{port}", self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        with self._lock:
            self._ends = True
            idle = [each for each in self._connections.values() if each.idle_since is not None]
            threads = [each.thread for each in self._connections.values() if each.thread is not None]
        self._waker.send(b"x")
        self._thread.join_until(None)
        for each in idle:
            each.end()
        deadline = self._host.monotonic() + GRACE
        if not all(thread.join_until(deadline) for thread in threads):
            with self._lock:
                rest = [*self._connections.values()]
            for each in rest:
                each.end()
        self._waker.close()
        self._woken.close()

    def _accept(self) -> None:
        self._listener.setblocking(False)
        while True:
            ready, _, _ = select.select([self._listener, self._woken], [], [])
            if self._woken in ready:
                return
            try:
                accepted, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue
            except OSError as error:
                log.warning("connection not accepted", error=error, retry_in=ACCEPT_AGAIN)
                if self._stop.wait(ACCEPT_AGAIN):
                    return
                continue
            self._begin(accepted)

    def _begin(self, accepted: socket.socket) -> None:
        accepted.settimeout(PATIENCE)
        with self._lock:
            crowd = list(self._connections.values()) if len(self._connections) >= MOST_CONNECTIONS else []
            name = self._next
            self._next += 1
            connection = _Connection(accepted)
            victim = min(
                (each for each in crowd if each.idle_since is not None),
                key=lambda each: each.idle_since or 0,
                default=None,
            )
            if not crowd or victim is not None:
                self._connections[name] = connection
        if crowd and victim is None:
            log.warning("connection refused: all are busy", connections=MOST_CONNECTIONS)
            accepted.close()
            return
        if victim is not None:
            victim.end()
        connection.thread = spawn(
            self._host, self._stop, f"webhook-connection/{name}", lambda: self._serve(name, connection)
        )

    def _serve(self, name: int, connection: _Connection) -> None:
        try:
            with contextlib.suppress(OSError):  # ssl's errors are OSErrors, too; the peer notices by itself
                context = self._context()
                with context.wrap_socket(connection.socket, server_side=True, do_handshake_on_connect=False) as secured:
                    connection.secured = secured
                    secured.do_handshake()
                    secured.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    reader = _Reader(self._host, secured)
                    while self._serve_one(connection, reader):
                        pass
        finally:
            connection.socket.close()  # if it was not taken over by a TLS socket
            with self._lock:
                del self._connections[name]

    def _serve_one(self, connection: _Connection, reader: _Reader) -> bool:
        """Answer one request, and return whether the connection goes on."""
        with self._lock:
            if self._ends:
                return False
            connection.idle_since = self._host.monotonic()
        begun = reader.wait(IDLE)
        with self._lock:
            connection.idle_since = None
        if not begun:
            return False
        request = reader.request(self._limit_of)
        if isinstance(request, int):
            phrase = f"{HTTPStatus(request).phrase.lower()}\n".encode()
            connection.send(encoded_response(HTTPResponse(request, {"connection": "close"}, phrase)))
            reader.drop_rest()
            return False
        # Set once; a request that misses it is the last but one.
        goes_on = request.headers.get("connection", "").lower() != "close" and not self._ends
        response = self._answer(request)
        headers = {**response.headers, "connection": "keep-alive" if goes_on else "close"}
        connection.send(encoded_response(response._replace(headers=headers)))
        return goes_on


class _Connection:
    """One connection. Threads: its own; `end` any."""

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        self.secured: ssl.SSLSocket | None = None
        self.thread: Thread | None = None
        self.idle_since: float | None = None

    def send(self, data: bytes) -> None:
        assert self.secured is not None, "sent after the handshake"
        self.secured.settimeout(PATIENCE)
        self.secured.sendall(data)

    def end(self) -> None:
        """End the connection in both directions, so that its thread ends: its reads and writes fail from then on."""
        with contextlib.suppress(OSError):  # the peer has ended it, or it has ended by itself
            # Not the method of SSLSocket: for an instant it would let a writer go on without encryption.
            socket.socket.shutdown(self.secured or self.socket, socket.SHUT_RDWR)


class _Reader:
    """Reads the requests of a connection. Threads: one."""

    def __init__(self, host: Host, secured: ssl.SSLSocket) -> None:
        self._host = host
        self._secured = secured
        self._buffer = bytearray()

    def wait(self, seconds: float) -> bool:
        """Wait for the first byte of a request, and return whether one came."""
        if self._buffer:
            return True
        self._secured.settimeout(seconds)
        return self._receive()

    def request(self, limit_of: Callable[[str], int]) -> HTTPRequest | int:
        """Return the request that has begun, or the status with which it is refused."""
        deadline = self._host.monotonic() + PATIENCE
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEAD_LIMIT:
                return 431
            if not self._receive_until(deadline):
                raise ConnectionResetError("the peer ended inside a head")
        try:
            head = parsed_head(bytes(self._buffer[: end + 4]))
            length = _length_of(head.headers)
        except ValueError:
            return 400
        if length is None:
            return 411
        if length > limit_of(head.path):
            # A path without a webhook has no body to read; the answer says so.
            return 413 if limit_of(head.path) else 404
        del self._buffer[: end + 4]
        while len(self._buffer) < length:
            if not self._receive_until(deadline):
                raise ConnectionResetError("the peer ended inside a body")
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return head._replace(body=body)

    def drop_rest(self) -> None:
        """Read what the peer still sends, within bounds: a connection that is closed before would lose the answer."""
        deadline, left = self._host.monotonic() + LINGER, LINGER_BYTES
        socket.socket.shutdown(self._secured, socket.SHUT_WR)
        while left > 0 and self._receive_until(deadline):
            left -= len(self._buffer)
            self._buffer.clear()

    def _receive_until(self, deadline: float) -> bool:
        left = deadline - self._host.monotonic()
        if left <= 0:
            raise TimeoutError("the request did not arrive in time")
        self._secured.settimeout(left)
        return self._receive()

    def _receive(self) -> bool:
        data = self._secured.recv(_CHUNK)
        self._buffer += data
        return bool(data)


def _length_of(headers: Mapping[str, str]) -> int | None:
    """Return the bytes of the body; None if the head does not say so.

    Raises:
        ValueError: It is no number.
    """
    if "transfer-encoding" in headers:
        return None
    text = headers.get("content-length", "0")
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise ValueError("content-length is no number")
    return int(text)
