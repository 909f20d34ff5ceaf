# SPDX-License-Identifier: Apache-2.0
"""Reads HTTP/1.1 requests of a connection, within bounds of time and of memory."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping

from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from controller_runtime.serving.bodies import PER_BYTE, RequestBodies, cost_of
from controller_runtime.serving.http_text import parsed_head

HEAD_LIMIT = 16 * 1024
"""Bytes of a request's head."""

PATIENCE = 10.0
"""Seconds for the handshake and the first head of a connection, for a request that has begun, and for its answer."""

LINGER, LINGER_BYTES = 2.0, 32 * 1024 * 1024
"""Seconds and bytes for the rest of a request that was refused before all of it had arrived."""

_CHUNK = 64 * 1024

Drop = Callable[[], None]


def head_in(buffer: bytearray) -> HTTPRequest | int | None:
    """Remove the head of a request from the received bytes, and return the request without its body.

    Returns:
        The request, the HTTP status with which it is refused, or None if the head is incomplete.
    """
    end = buffer.find(b"\r\n\r\n")
    if (len(buffer) if end < 0 else end) > HEAD_LIMIT:
        return 431
    if end < 0:
        return None
    head = bytes(buffer[: end + 4])
    del buffer[: end + 4]
    try:
        return parsed_head(head)
    except ValueError:  # not ASCII, not three words, not a path
        return 400


class Reader:
    """Reads the requests of a connection.

    Args:
        host: The source of the time.
        sock: The connection.
        buffer: The bytes that have been received already.
        bodies: Limits the memory of bodies; the key is this reader.
        drop: Called to close the connection if another one needs the memory while a body arrives.

    Threads: one.
    """

    def __init__(self, host: Host, sock: socket.socket, buffer: bytearray, bodies: RequestBodies, drop: Drop) -> None:
        self._host = host
        self._sock = sock
        self._buffer = buffer
        self._bodies = bodies
        self._drop = drop

    def wait(self, seconds: float) -> bool:
        """Wait for the first byte of a request; return True if one came, and False if the client closed the connection.

        Raises:
            TimeoutError: Neither happened within `seconds`.
        """
        if self._buffer:
            return True
        self._sock.settimeout(seconds)
        return self._receive()

    def request(self, limit_of: Callable[[str], int]) -> HTTPRequest | int:
        """Read the request that has begun; return it, or the HTTP status with which it is refused.

        `limit_of` returns the most bytes of a body, by path.

        Raises:
            ConnectionResetError: The client closed the connection before the end of the request.
            TimeoutError: The request did not arrive within `PATIENCE` seconds.
        """
        deadline = self._host.monotonic() + PATIENCE
        while (head := head_in(self._buffer)) is None:
            if not self._receive_until(deadline):
                raise ConnectionResetError("the peer ended inside a head")
        if isinstance(head, int):
            return head
        try:
            length = _length_of(head.headers)
        except ValueError:
            return 400
        if length is None:
            return 411
        if length > limit_of(head.path):
            # A path without a webhook has no body to read; the answer says so.
            return 413 if limit_of(head.path) else 404
        body = self._body(length, deadline)
        return body if isinstance(body, int) else head._replace(body=body)

    def _body(self, length: int, deadline: float) -> bytes | int:
        """Return a body, whose memory is counted until `release`, or the status with which it is refused."""
        if length * PER_BYTE > self._bodies.total:
            return 413
        counted = 0
        while True:
            counted, before = min(len(self._buffer), length), counted
            if not self._bodies.take(self, (counted - before) * PER_BYTE, self._drop):
                return 429
            if counted == length:
                break
            if not self._receive_until(deadline):
                raise ConnectionResetError("the peer ended inside a body")
        with memoryview(self._buffer) as view:
            body = bytes(view[:length])
        del self._buffer[:length]
        cost = cost_of(body)
        if cost > self._bodies.total:
            return 413
        return body if self._bodies.take(self, cost - length * PER_BYTE, None) else 429

    def release(self) -> None:
        """Release the memory of the request that has been answered."""
        self._bodies.give_back(self)

    def drop_rest(self) -> None:
        """Read and discard what the client still sends, within limits: closing the connection could lose the answer."""
        deadline, left = self._host.monotonic() + LINGER, LINGER_BYTES
        socket.socket.shutdown(self._sock, socket.SHUT_WR)
        while left > 0 and self._receive_until(deadline):
            left -= len(self._buffer)
            self._buffer.clear()

    def _receive_until(self, deadline: float) -> bool:
        left = deadline - self._host.monotonic()
        if left <= 0:
            raise TimeoutError("the request did not arrive in time")
        self._sock.settimeout(left)
        return self._receive()

    def _receive(self) -> bool:
        data = self._sock.recv(_CHUNK)
        self._buffer += data
        return bool(data)


def _length_of(headers: Mapping[str, str]) -> int | None:
    """Return the bytes of the body; None if the head does not say so.

    Raises:
        ValueError: It is not a number.
    """
    if "transfer-encoding" in headers:
        return None
    text = headers.get("content-length", "0")
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise ValueError("content-length is not a number")
    return int(text)
