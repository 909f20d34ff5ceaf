# SPDX-License-Identifier: Apache-2.0
"""A streamed answer over HTTP: complete lines, an idle bound, and an end that any thread can make."""

from __future__ import annotations

from http.client import HTTPResponse

from controller_runtime.api import http as wire
from controller_runtime.client.http.connection import FAILURES, Connection
from controller_runtime.client.transport import Stream
from controller_runtime.core.errors import ConnectionLost, StreamIdle
from controller_runtime.core.host import Host

_CHUNK = 64 * 1024
# Bytes of one line, of which an object takes 3 MiB at most; what never ends would fill the memory before it is silent.
_LONGEST_LINE = 64 * 1024 * 1024


class HTTPStream(Stream):
    """A `transport.Stream` over a connection of its own.

    Threads: one reads, any closes.
    """

    def __init__(
        self, host: Host, connection: Connection, answer: HTTPResponse, response: wire.HTTPResponse, what: str
    ) -> None:
        self.response = response
        self._host = host
        self._wire = connection
        self._answer = answer
        self._what = what
        # Of a line that is not complete yet; the reader's own.
        self._rest: list[bytes] = []
        self._rest_size = 0
        # Guards the two below, which decide who gives the descriptor back: never while somebody reads from it.
        self._lock = host.lock("http stream")
        self._reading = False
        self._closed = False

    def read(self, deadline: float) -> list[bytes] | None:
        """See `transport.Stream.read`."""
        self._host.leaving("http stream")
        with self._lock:
            if self._closed:
                return None
            self._reading = True
        lines: list[bytes] | None = None
        try:
            lines = self._read_lines(deadline)
        except FAILURES as error:
            if not self._closed:  # otherwise the failure is our own doing, and the end
                raise self._lost(error) from error
        finally:
            self._leave(over=lines is None)
        return lines

    def _read_lines(self, deadline: float) -> list[bytes] | None:
        self._wire.deadline, self._wire.linger = deadline, self.linger
        while data := self._answer.read1(_CHUNK):
            head, newline, tail = data.rpartition(b"\n")
            if not newline:
                self._rest.append(tail)
                self._rest_size += len(tail)
                if self._rest_size > _LONGEST_LINE:
                    raise ConnectionError("a line without end")
                continue
            lines = [line for line in b"".join((*self._rest, head)).split(b"\n") if line]
            self._rest, self._rest_size = [tail] if tail else [], len(tail)
            if lines:
                return lines
        if self._closed:
            return None
        if self._rest or self._answer.length:
            raise ConnectionError("cut inside a line")
        return None

    def _lost(self, error: BaseException) -> ConnectionLost:
        if isinstance(error, TimeoutError):
            return StreamIdle(f"{self._what}: no complete line in time")
        return ConnectionLost(f"{self._what}: {self._wire.why(error)}")

    def _leave(self, *, over: bool) -> None:
        with self._lock:
            self._reading = False
            self._closed = self._closed or over
            closed = self._closed
        if closed:
            self._wire.close()

    def close(self) -> None:
        """See `transport.Stream.close`."""
        with self._lock:
            self._closed = True
            reading = self._reading
        self._wire.shut_down()
        if not reading:
            self._wire.close()
