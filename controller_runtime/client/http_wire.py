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
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import TYPE_CHECKING, Any, cast

from controller_runtime.api import wire
from controller_runtime.core.host import Host

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

FAILURES = (OSError, HTTPException)
"""How a connection fails: the network's errors, TLS's among them, and answers that are not HTTP."""

_CHUNK = 64 * 1024
# What client-go asks of the kernel: probe after 30 s of silence, every 15 s, nine times.
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPALIVE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 9))


class Wire:
    """One connection, from before it is made until its descriptor is given back.

    Attributes:
        deadline: When the exchange in hand must be over, in the clock's monotonic seconds.
        idle_since: When it was last put aside.

    Threads: one at a time; `shut_down` from any.
    """

    __slots__ = ("_ended", "_is_shut", "_lock", "_now", "_socket", "deadline", "idle_since")

    def __init__(self, host: Host) -> None:
        self.deadline = 0.0
        self.idle_since = 0.0
        self._now = host.monotonic
        self._ended = False  # the server has closed its side
        # Guards the two below where they change: nobody gives a descriptor back while another shuts it down.
        self._lock = host.lock("wire")
        self._socket: socket.socket | None = None
        self._is_shut = False

    @property
    def is_made(self) -> bool:
        """Whether there is a connection, however it fares."""
        return self._socket is not None

    def dial(self, family: int, kind: int, protocol: int, address: tuple[Any, ...]) -> None:
        """Connect to a resolved address, in place of what was tried before."""
        self.close()
        with self._lock:
            self._socket = socket.socket(family, kind, protocol)
        _tune(self._socket)
        self._ready().connect(address)

    def start_tls(self, context: ssl.SSLContext, server_name: str) -> None:
        """Shake hands; everything after is encrypted."""
        plain = self._ready()
        with self._lock:
            self._socket = secure = context.wrap_socket(
                plain, server_hostname=server_name, do_handshake_on_connect=False
            )
        self._ready()
        secure.do_handshake()

    def send(self, data: bytes) -> None:
        """Send all of `data`."""
        view = memoryview(data)
        while view:
            view = view[self._ready().send(view) :]

    def receive_into(self, buffer: WriteableBuffer) -> int:
        """Receive what there is, at least a byte; 0 at the end."""
        received = self._ready().recv_into(buffer)
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
        assert self._socket is not None, "idle after it was used"
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def shut_down(self) -> None:
        """End it in both directions, for good: whoever waits for it fails. The descriptor stays valid until `close`."""
        with self._lock:
            self._is_shut = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # not connected any more is as good
                    # Not SSLSocket's, which would pull TLS off the reader.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the descriptor back. Idempotent."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()

    def why(self, error: BaseException) -> str:
        """What a failure says, in words."""
        if self._is_shut:
            return "given up"
        if isinstance(error, IncompleteRead):
            return "cut inside the answer"
        return str(error) or type(error).__name__

    def _ready(self) -> socket.socket:
        """The socket, with what is left of the time for its next call."""
        if self._is_shut:
            raise ConnectionAbortedError
        left = self.deadline - self._now()
        if left <= 0:
            raise TimeoutError("timed out")
        assert self._socket is not None, "dialled before it is used"
        self._socket.settimeout(left)
        return self._socket


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


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):  # each system has its own subset
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
