# SPDX-License-Identifier: Apache-2.0
"""Answers, read from a connection by the parser of `http.client`, and refused where that would believe too much."""

from __future__ import annotations

import io
import socket
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, cast

from controller_runtime.api import http as wire
from controller_runtime.client.http.connection import Connection, Exchange

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LONGEST_ANSWER = 2 * 1024**3
"""Bytes of one answer: as many as etcd holds of all objects together unless it is told otherwise."""

_LONGEST_REFUSAL = 4 * 1024**2  # bytes of the body of a failed answer that are read; a Status takes a few hundred
_LONGEST_HEAD = 8 * 1024**2  # bytes of a head, which the parser bounds by 100 lines of 64 KiB, and of what precedes it
_CHUNK = 64 * 1024
_PIECE = 1024 * 1024


def begun_answer(connection: Connection, method: str) -> HTTPResponse:
    """The next answer, of which the head was read; its body is then read from it.

    Raises:
        OSError: It is cut, has no end, or is encoded in a way that was not asked for.
        HTTPException: It is not HTTP.
    """
    buffer = _Buffer(connection)
    while True:
        answer = HTTPResponse(cast("socket.socket", buffer), method=method)  # it calls `makefile` alone
        answer.begin()
        if connection.is_cut:  # which the parser takes for the end of the headers
            raise ConnectionError("cut inside the head of the answer")
        if not 100 <= answer.status < 200:
            break
        answer.fp = None  # type: ignore[assignment]  # a provisional one, which may not close it as it goes
    buffer.head_is_read()
    encoding = answer.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise ConnectionError(f"the answer is encoded as {encoding!r}, which was not asked for")
    return answer


def whole_answer(connection: Connection, answer: HTTPResponse, longest: int = LONGEST_ANSWER) -> wire.HTTPResponse:
    """The rest of an answer, as a value; never more memory at once than what has come, whatever is announced.

    Of a failed answer that is very long the beginning is taken, because its status says enough; the connection is then
    not used again.

    Args:
        connection: Where it comes from.
        answer: Of which the head was read.
        longest: Most bytes of a successful answer.

    Raises:
        OSError: It is cut, or longer than `longest`.
        HTTPException: It is not HTTP.
    """
    is_refusal = not 200 <= answer.status < 300
    most = min(longest, _LONGEST_REFUSAL) if is_refusal else longest
    parts: list[bytes] = []
    left = most + 1
    try:
        while left and (part := answer.read(min(_PIECE, left))):
            parts.append(part)
            left -= len(part)
    except ValueError as error:  # a chunk of negative length
        raise HTTPException(f"malformed chunks: {error}") from error
    if not left and is_refusal:
        return wire.HTTPResponse(answer.status, headers_of(answer), b"".join(parts))
    if not left:
        raise ConnectionError(f"the answer is longer than {most} bytes")
    if answer.length:
        raise ConnectionError("cut inside the answer")
    if connection.exchange is Exchange.HEARD and not answer.will_close:
        connection.exchange = Exchange.OVER
    return wire.HTTPResponse(answer.status, headers_of(answer), b"".join(parts))


def headers_of(answer: HTTPResponse) -> dict[str, str]:
    """The headers by lower-case name; repeated ones are joined by a comma."""
    headers: dict[str, str] = {}
    for name, value in answer.getheaders():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


class _Buffer(io.BufferedReader):
    """What an answer is read from. Closing it leaves the connection open, and tells it if something was left over."""

    def __init__(self, connection: Connection) -> None:
        self._source = _Source(connection)
        super().__init__(self._source, _CHUNK)

    def makefile(self, mode: str) -> io.BufferedReader:
        """As of a socket; the same one for a provisional answer and what follows it."""
        return self

    def head_is_read(self) -> None:
        """The body follows, which has a bound of its own."""
        self._source.left = None

    def flush(self) -> None:
        """Nothing is written; the base would complain once it is closed, and the collector closes in any order."""

    def close(self) -> None:
        """As its base; bytes beyond the answer are no answer to anything."""
        if not self.closed:
            self._source.is_over = True
            if self.peek(1):
                self._source.connection.exchange = Exchange.OUT_OF_STEP
        super().close()


class _Source(io.RawIOBase):
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.is_over = False  # nothing more is to be received, but what is in the buffer is there
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
