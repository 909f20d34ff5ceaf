# SPDX-License-Identifier: Apache-2.0
"""Reads answers from a connection: the head by a parser of our own, the body by its framing.

The parser of `http.client` builds an e-mail message of each head, which took a seventh of the CPU of a small request.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from apimachinery import http as api
from controller_runtime.client.http.connection import Connection, Exchange
from controller_runtime.client.http.framing import Chunked, Framing, Sized, UntilEnd

LONGEST_ANSWER = 2 * 1024**3
"""The most bytes of one answer by default: etcd's default quota for all objects together."""

_LONGEST_REFUSAL = 4 * 1024**2  # bytes of the body of a failed answer that are read; a Status takes a few hundred
_LONGEST_HEAD = 8 * 1024**2  # bytes of a head and of the provisional answers before it
_LONGEST_LINE = 64 * 1024  # bytes of the status line, and of one header
_MOST_HEADERS = 100
_MUCH = 64 * 1024  # bytes of a body after which many more are expected; few answers but pages have as many
_SWITCHED = 101
_BLANK_LINE = re.compile(rb"\n\r?\n")
_STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: (.*))?")


class _AnswerHead(NamedTuple):
    status: int
    reason: str
    headers: dict[str, str]
    is_old: bool  # it is of HTTP/1.0, whose connections end with their answer


class Answer:
    """An answer whose head has been read.

    Args:
        connection: The connection, from which the body is received.
        head: The parsed head.
        framing: Finds the end of the body.
        begun: Bytes of the body that came together with the head.
        is_last: True if the server closes the connection after this answer.

    Attributes:
        status: The HTTP status code.
        reason: The reason phrase after the status code.
        headers: The headers by lower-case name; repeated ones are joined by a comma.

    Threads: one.
    """

    def __init__(
        self, connection: Connection, head: _AnswerHead, framing: Framing, begun: bytes, *, is_last: bool
    ) -> None:
        self.status = head.status
        self.reason = head.reason
        self.headers = head.headers
        self._connection = connection
        self._framing = framing
        self._begun = begun
        self._is_last = is_last
        if framing.is_over:
            self._finish(begun)

    def pieces(self) -> list[memoryview]:
        """Return the next pieces of the body, at least one; an empty list at its end.

        Raises:
            OSError: The body is cut or malformed, or the deadline of the connection passed.
        """
        framing = self._framing
        is_over = framing.is_over
        while not is_over:
            data, self._begun = self._begun or self._connection.receive(), b""
            if not data:
                framing.end()
                break
            pieces = framing.cut(data)
            is_over = framing.is_over
            if is_over:
                self._finish(framing.rest)
            if pieces:
                return pieces
        return []

    def rest(self) -> bytes:
        """Return, once, the bytes received together with the headers; after an upgrade they are of the new protocol."""
        begun, self._begun = self._begun, b""
        return begun

    def expect_more(self, received: int) -> None:
        """Tell the connection how many bytes of the body have come. After many, it receives larger pieces."""
        self._connection.is_bulk = received >= _MUCH

    def _finish(self, rest: bytes) -> None:
        """Note on the connection that the whole answer has come."""
        if rest:  # these bytes belong to no request
            self._connection.exchange = Exchange.OUT_OF_STEP
        elif self._connection.exchange is Exchange.ANSWERING and not (self._is_last or self._connection.is_cut):
            self._connection.exchange = Exchange.OVER


def begin_answer(connection: Connection, method: str, *, upgrades: bool = False) -> Answer:
    """Read the head of the next answer, and return the answer, from which the body can be read.

    Args:
        connection: The connection.
        method: The method of the request.
        upgrades: Whether the request asks to switch to another protocol, so that 101 is a final answer.

    Raises:
        OSError: The head is cut, has no end or is not HTTP, or the body is in an encoding that was not asked for.
    """
    begun, left = b"", _LONGEST_HEAD
    while True:
        received = connection.receive()
        if not received:
            raise ConnectionError(_how_cut(begun))
        begun += received
        at = 0
        while (end := _BLANK_LINE.search(begun, at)) is not None:
            head = _head(begun[at : end.start()])
            at = end.end()
            if not 100 <= head.status < 200 or (upgrades and head.status == _SWITCHED):
                return _answer(connection, method, head, begun[at:])
        begun = begun[at:]
        left -= len(received)
        if left < 0:
            raise ConnectionError("the head of the answer has no end")
        if len(begun) > _LONGEST_LINE and b"\n" not in begun:
            raise ConnectionError(f"the status line is longer than {_LONGEST_LINE} bytes")


def _answer(connection: Connection, method: str, head: _AnswerHead, begun: bytes) -> Answer:
    headers = head.headers
    encoding = headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise ConnectionError(f"the answer is encoded as {encoding!r}, which was not asked for")
    has_body = not (method == "HEAD" or head.status in (204, 304))
    framing = _framing(headers) if has_body else Sized(0)
    option = headers.get("connection", "").lower()
    is_last = "close" in option or isinstance(framing, UntilEnd) or (head.is_old and "keep-alive" not in option)
    return Answer(connection, head, framing, begun, is_last=is_last)


def whole_answer(answer: Answer, longest: int = LONGEST_ANSWER) -> api.HTTPResponse:
    """Read the whole body of an answer, and return the answer as a value. Memory grows only with the bytes that came.

    The body of a failed answer may be very long, and its beginning is enough for the error. So it is read only until
    4 MiB have come; if it has more, the connection is not used again.

    Args:
        answer: An answer whose head has been read.
        longest: The most bytes of a successful answer.

    Raises:
        OSError: The body is cut or malformed, or longer than `longest`.
    """
    is_refusal = not 200 <= answer.status < 300
    limit = min(longest, _LONGEST_REFUSAL) if is_refusal else longest
    body = bytearray()  # one copy of the bytes: a list of pieces of one byte would take 200 times as much
    while len(body) <= limit and (pieces := answer.pieces()):
        for piece in pieces:
            body += piece
        answer.expect_more(len(body))
    if len(body) > limit and not is_refusal:
        raise ConnectionError(f"the answer is longer than {limit} bytes")
    del body[limit + 1 :]
    return api.HTTPResponse(answer.status, answer.headers, bytes(body))


def _head(head: bytes) -> _AnswerHead:
    """Return the parts of one head, which is given without its blank line."""
    first, *lines = head.decode("latin-1").split("\n")
    found = _STATUS_LINE.fullmatch(first.rstrip("\r"))
    if found is None:
        raise ConnectionError(f"the status line {first[:80]!r} is not HTTP")
    if len(lines) > _MOST_HEADERS:
        raise ConnectionError(f"the answer has more than {_MOST_HEADERS} headers")
    if len(head) > _LONGEST_LINE and max(map(len, lines), default=0) > _LONGEST_LINE:
        raise ConnectionError(f"a header line is longer than {_LONGEST_LINE} bytes")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        key, value = name.lower(), value.strip()
        if not colon or not name or " " in name or "\t" in name:
            raise ConnectionError(f"the header line {line[:80]!r} is malformed")
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return _AnswerHead(int(found[2]), found[3] or "", headers, is_old=found[1] == "0")


def _framing(headers: dict[str, str]) -> Framing:
    coding = headers.get("transfer-encoding")
    if coding is not None:
        if coding.lower() != "chunked":
            raise ConnectionError(f"the answer is transferred as {coding!r}, which was not asked for")
        return Chunked()
    length = headers.get("content-length")
    if length is None:
        return UntilEnd()
    if not (length.isascii() and length.isdecimal() and len(length) < 20):
        raise ConnectionError(f"the answer has a content-length of {length[:40]!r}")
    return Sized(int(length))


def _how_cut(begun: bytes) -> str:
    return "cut inside the head of the answer" if begun else "the server closed the connection without response"
