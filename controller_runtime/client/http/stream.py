# SPDX-License-Identifier: Apache-2.0
"""A streamed answer over HTTP: it returns complete lines, bounds silence, and can be closed by any thread."""

from __future__ import annotations

from apimachinery import http as api
from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.host import Host
from controller_runtime.client.http.answer import Answer
from controller_runtime.client.http.connection import Connection
from controller_runtime.client.transport import Stream

# Most bytes of one line. An object has 3 MiB at most; without a bound, a line that has no end would fill the memory.
_LONGEST_LINE = 64 * 1024 * 1024
_NEWLINE = ord("\n")


class HTTPStream(Stream):
    """A `transport.Stream` over its own connection.

    Args:
        host: Creates the lock.
        connection: The connection, which the stream closes.
        answer: The answer, whose head has been read.
        response: Status and headers of the answer.
        what: The name of the request, for messages.

    Threads: `read` from one, `close` from any.
    """

    def __init__(
        self, host: Host, connection: Connection, answer: Answer, response: api.HTTPResponse, what: str
    ) -> None:
        self.response = response
        self._host = host
        self._connection = connection
        self._answer = answer
        self._what = what
        # The parts of a line that is not complete yet; the reader's own.
        self._rest = bytearray()  # grows with the bytes of a line, however many pieces they come in
        # Guards the two fields below. They decide which thread closes the descriptor: never `close` during a `read`,
        # since the system could give its number to another connection, which would then be read.
        self._lock = host.lock("http stream")
        self._reading = False
        self._closed = False

    def read(self, deadline: float) -> list[bytes] | None:
        """Return the next complete lines; None when the stream has ended; see `transport.Stream.read`."""
        self._host.leaving("http stream")
        with self._lock:
            self._reading = not self._closed
            if not self._reading:
                return None
        lines: list[bytes] | None = None
        try:
            lines = self._read_lines(deadline)
        except OSError as error:
            if not self._closed:  # or else `close` has caused the failure, and the stream has ended
                raise self._lost(error) from error
        finally:
            with self._lock:
                self._reading = False
                self._closed = is_over = self._closed or lines is None
            if is_over:
                self._connection.close()
        return lines

    def _read_lines(self, deadline: float) -> list[bytes] | None:
        connection = self._connection
        connection.deadline, connection.linger, connection.is_bulk = deadline, self.linger, self.is_bulk
        while pieces := self._answer.pieces():
            lines: list[bytes] = []
            for piece in pieces:
                self._cut(piece, lines)
            if lines:
                return lines
        if self._closed:  # set once and never cleared
            return None
        if self._rest:
            if self.is_text:
                rest, self._rest = bytes(self._rest), bytearray()
                return [rest]
            raise ConnectionError("cut inside a line")
        return None

    def _cut(self, piece: memoryview, lines: list[bytes]) -> None:
        """Add the lines that are complete with the next piece of the body to `lines`.

        A real API server sends each event as one chunk, so the usual piece is one line, which is copied once.
        """
        if not self._rest and piece[-1] == _NEWLINE:
            found = bytes(piece[:-1])
            if b"\n" not in found:
                if found or self.is_text:
                    lines.append(found)
                return
        head, newline, tail = bytes(piece).rpartition(b"\n")
        if newline:
            lines += [line for line in b"".join((self._rest, head)).split(b"\n") if line or self.is_text]
            self._rest = bytearray()
        self._rest += tail
        if len(self._rest) > _LONGEST_LINE:
            raise ConnectionError("a line without end")

    def _lost(self, error: BaseException) -> ConnectionLost:
        if isinstance(error, TimeoutError):
            return StreamIdle(f"{self._what}: no complete line in time")
        return ConnectionLost(f"{self._what}: {self._connection.why(error)}")

    def close(self) -> None:
        """Close the stream, and wake a blocked `read`; see `transport.Stream.close`."""
        with self._lock:
            self._closed = True
            reading = self._reading
        self._connection.shut_down()
        if not reading:
            self._connection.close()
