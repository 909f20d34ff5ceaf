# SPDX-License-Identifier: Apache-2.0
"""One connection to the API server, on which every wait ends at one deadline.

`http.client` parses the answers; what it cannot do is bound a whole exchange, because
a socket's timeout starts again with each byte. So it reads through `Wire`, which gives
each receive only what is left.
"""

from __future__ import annotations

import contextlib
import io
import select
import socket
import ssl
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, cast

from controller_runtime.api import wire
from controller_runtime.core.host import Clock

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

FAILURES = (OSError, HTTPException)
"""How a connection fails: the network's errors, TLS's among them, and answers that are not HTTP."""

_CHUNK = 64 * 1024


class Wire:
    """A connected socket.

    Attributes:
        deadline: When the exchange in hand must be over, in the clock's monotonic seconds.
        idle_since: When it was last put aside.

    Threads: one at a time; `shut_down` from any.
    """

    __slots__ = ("_clock", "_ended", "_socket", "deadline", "idle_since")

    def __init__(self, sock: socket.socket, clock: Clock, deadline: float) -> None:
        self._socket = sock
        self._clock = clock
        self.deadline = deadline
        self.idle_since = 0.0
        self._ended = False  # the server has closed its side

    def start_tls(self, context: ssl.SSLContext, server_name: str) -> None:
        """Shake hands; everything after is encrypted."""
        self._socket = context.wrap_socket(self._socket, server_hostname=server_name, do_handshake_on_connect=False)
        self._bound()
        self._socket.do_handshake()

    def send(self, data: bytes) -> None:
        """Send all of `data`."""
        view = memoryview(data)
        while view:
            self._bound()
            view = view[self._socket.send(view) :]

    def receive_into(self, buffer: WriteableBuffer) -> int:
        """Receive what there is, at least a byte; 0 at the end."""
        self._bound()
        received = self._socket.recv_into(buffer)
        self._ended = not received
        return received

    def answer(self, method: str) -> HTTPResponse:
        """Read the head of the next answer; its body is then read from it."""
        response = HTTPResponse(cast("socket.socket", self), method=method)  # of a socket it calls `makefile` alone
        response.begin()
        if self._ended:  # which the parser takes for the end of the headers
            raise ConnectionError("cut inside the head of the answer")
        return response

    def makefile(self, mode: str) -> io.BufferedReader:
        """What `HTTPResponse` reads from; closing it does not close the connection."""
        return io.BufferedReader(_Reader(self), _CHUNK)

    def is_quiet(self) -> bool:
        """Whether nothing has arrived; on an idle connection whatever has, most often its end, makes it useless."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def shut_down(self) -> None:
        """End both directions, which wakes whoever reads; the descriptor stays valid until `close`."""
        with contextlib.suppress(OSError):  # not connected any more is as good
            socket.socket.shutdown(
                self._socket, socket.SHUT_RDWR
            )  # not SSLSocket's, which would pull TLS off the reader

    def close(self) -> None:
        """Give the descriptor back."""
        self._socket.close()

    def _bound(self) -> None:
        left = self.deadline - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left)


class _Reader(io.RawIOBase):
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._wire.receive_into(buffer)


def headers_of(response: HTTPResponse) -> dict[str, str]:
    """The headers by lower-case name; repeated ones are joined by a comma."""
    headers: dict[str, str] = {}
    for name, value in response.getheaders():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def whole_answer(response: HTTPResponse) -> wire.HTTPResponse:
    """Read the rest of an answer, as a value."""
    return wire.HTTPResponse(response.status, headers_of(response), response.read())
