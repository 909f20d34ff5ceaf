# SPDX-License-Identifier: Apache-2.0
"""Reads answers from a connection by the parser of `http.client`, and refuses what that parser would accept wrongly."""

from __future__ import annotations

import io
import socket
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, cast

from controller_runtime.api import http as api
from controller_runtime.client.http.connection import Connection, Exchange

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LONGEST_ANSWER = 2 * 1024**3
"""Most bytes of one answer: etcd's default quota for all objects together."""

_LONGEST_REFUSAL = 4 * 1024**2  # bytes of the body of a failed answer that are read; a Status takes a few hundred
# Bytes of a head and of the provisional answers before it. The parser bounds one head to 100 lines of 64 KiB.
_LONGEST_HEAD = 8 * 1024**2
_CHUNK = 64 * 1024  # bytes that are received at once
_PIECE = 1024 * 1024  # bytes for which memory is reserved at once, so that an announced length alone costs nothing


def begin_answer(connection: Connection, method: str) -> HTTPResponse:
    """Read the head of the next answer, and return the answer, from which the body can be read.

    Raises:
        OSError: The head is cut or has no end, or the body is in an encoding that was not asked for.
        HTTPException: The answer is not HTTP.
    """
    buffer = _Buffer(connection)
    while True:
        answer = HTTPResponse(cast("socket.socket", buffer), method=method)  # it only calls `makefile`
        answer.begin()
        if connection.is_cut:  # the parser would take that for the end of the headers
            raise ConnectionError("cut inside the head of the answer")
        if not 100 <= answer.status < 200:
            break
        answer.fp = None  # type: ignore[assignment]  # or a provisional answer closes the buffer when it is collected
    buffer.head_is_read()
    encoding = answer.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise ConnectionError(f"the answer is encoded as {encoding!r}, which was not asked for")
    return answer


def whole_answer(connection: Connection, answer: HTTPResponse, longest: int = LONGEST_ANSWER) -> api.HTTPResponse:
    """Read the body of an answer, and return the whole as a value; the memory grows with what has come.

    The body of a failed answer may be very long, and its beginning says enough. So 4 MiB of it are read,
    and if it has more, the connection is not used again.

    Args:
        connection: The connection of the answer.
        answer: An answer whose head was read.
        longest: Most bytes of a successful answer.

    Raises:
        OSError: The body is cut, or longer than `longest`.
        HTTPException: The body is not HTTP.
    """
    is_refusal = not 200 <= answer.status < 300
    limit = min(longest, _LONGEST_REFUSAL) if is_refusal else longest
    parts: list[bytes] = []
    left = limit + 1
    try:
        while left and (part := answer.read(min(_PIECE, left))):
            parts.append(part)
            left -= len(part)
    except ValueError as error:  # a chunk of negative length
        raise HTTPException(f"malformed chunks: {error}") from error
    if not left and is_refusal:
        return api.HTTPResponse(answer.status, headers_of(answer), b"".join(parts))
    if not left:
        raise ConnectionError(f"the answer is longer than {limit} bytes")
    if answer.length:
        raise ConnectionError("cut inside the answer")
    if connection.exchange is Exchange.ANSWERING and not answer.will_close:
        connection.exchange = Exchange.OVER
    return api.HTTPResponse(answer.status, headers_of(answer), b"".join(parts))


def headers_of(answer: HTTPResponse) -> dict[str, str]:
    """Return the headers by lower-case name; repeated ones are joined by a comma."""
    headers: dict[str, str] = {}
    for name, value in answer.getheaders():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


class _Buffer(io.BufferedReader):
    """The buffer from which the parser reads. Closing it leaves the connection open, and marks it if bytes are left."""

    def __init__(self, connection: Connection) -> None:
        self._source = _Source(connection)
        super().__init__(self._source, _CHUNK)

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return this buffer. The parser calls this as if on a socket, for each provisional answer and the last one."""
        return self

    def head_is_read(self) -> None:
        """Lift the limit on the size of the head, which has been read; `whole_answer` limits the body."""
        self._source.left = None

    def flush(self) -> None:
        """Do nothing. The base class raises if `flush` follows `close`, as it may when the garbage collector runs."""

    def close(self) -> None:
        """Close the buffer; bytes after the answer belong to no request, so the connection is then out of step."""
        if not self.closed:
            self._source.is_over = True
            if self.peek(1):
                self._source.connection.exchange = Exchange.OUT_OF_STEP
        super().close()


class _Source(io.RawIOBase):
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.is_over = False  # nothing more is received; bytes in the buffer can still be read
        self.left: int | None = _LONGEST_HEAD  # bytes that may still come before the body begins

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self.is_over:
            return 0
        received = self.connection.receive_into(buffer)
        if self.left is not None:
            self.left -= received
            if self.left < 0:
                raise ConnectionError("the head of the answer has no end")
        return received
