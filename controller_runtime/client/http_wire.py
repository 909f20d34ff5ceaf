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
_PIECE = 1024 * 1024
_READING = ("GET", "HEAD")
# What client-go asks of the kernel: probe after 30 s of silence, every 15 s, nine times.
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPALIVE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 9))


class Wire:
    """One connection, from before it is made until its descriptor is given back.

    Attributes:
        deadline: When the exchange in hand must be over, in the clock's monotonic seconds.
        idle_since: When it was last put aside.
        made_for: Whose it is; compared by its user.
        is_in_step: False once more has come than the answers that were read.

    Threads: one at a time; `shut_down` from any.
    """

    __slots__ = (
        "_ended",
        "_is_heard",
        "_is_sent",
        "_is_shut",
        "_lock",
        "_now",
        "_socket",
        "deadline",
        "idle_since",
        "is_in_step",
        "made_for",
    )

    def __init__(self, host: Host) -> None:
        self.deadline = 0.0
        self.idle_since = 0.0
        self.made_for: object = None
        self.is_in_step = True
        self._now = host.monotonic
        self._ended = False  # the server has closed its side
        self._is_sent = False  # the request in hand, whole
        self._is_heard = False  # a part of its answer is here
        # Guards the two below where they change: nobody gives a descriptor back while another shuts it down.
        self._lock = host.lock("wire")
        self._socket: socket.socket | None = None
        self._is_shut = False

    @property
    def is_made(self) -> bool:
        """Whether there is a connection, however it fares."""
        return self._socket is not None

    @property
    def is_shut(self) -> bool:
        """Whether it was ended from outside."""
        return self._is_shut

    def begin(self, deadline: float) -> None:
        """An exchange begins."""
        self.deadline = deadline
        self._is_sent = self._is_heard = False

    def was_dead(self, method: str) -> bool:
        """Whether what failed on a kept connection can be done on another, because it was not done on this one.

        So it is if the request was not sent whole; or, nothing being heard, if it only reads.
        """
        return not self._is_shut and (not self._is_sent or (not self._is_heard and method in _READING))

    def dial(self, family: int, kind: int, protocol: int, address: tuple[Any, ...], *, tries: int = 1) -> None:
        """Connect to a resolved address, in place of what was tried before, in a part of the time if `tries` are left.

        So one address that is silent leaves time for the next.
        """
        self.close()
        with self._lock:
            self._socket = socket.socket(family, kind, protocol)
        _tune(self._socket)
        ready = self._ready()
        ready.settimeout((self.deadline - self._now()) / tries)
        ready.connect(address)

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
        self._is_sent = True

    def receive_into(self, buffer: WriteableBuffer) -> int:
        """Receive what there is, at least a byte; 0 at the end."""
        received = self._ready().recv_into(buffer)
        self._ended = not received
        self._is_heard = self._is_heard or received > 0
        return received

    def answer(self, method: str) -> HTTPResponse:
        """Read the head of the next answer; its body is then read from it.

        Raises:
            OSError: It is cut, or encoded in a way that was not asked for.
            HTTPException: It is not HTTP.
        """
        buffer = _Buffer(self)
        while True:
            response = HTTPResponse(cast("socket.socket", buffer), method=method)  # it calls `makefile` alone
            response.begin()
            if self._ended:  # which the parser takes for the end of the headers
                raise ConnectionError("cut inside the head of the answer")
            if not 100 <= response.status < 200:
                break
            response.fp = None  # type: ignore[assignment]  # a provisional one, which may not close it as it goes
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise ConnectionError(f"the answer is encoded as {encoding!r}, which was not asked for")
        return response

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
        if isinstance(error, ssl.SSLCertVerificationError):
            return "its certificate is not to be trusted: " + error.verify_message.rstrip(".")
        if isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
            return "it does not speak TLS"
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


class _Buffer(io.BufferedReader):
    """What answers are read from. Closing it does not close the connection, but tells it what was left over."""

    def __init__(self, wire: Wire) -> None:
        self._source = _Source(wire)
        super().__init__(self._source, _CHUNK)

    def makefile(self, mode: str) -> io.BufferedReader:
        """As of a socket; the same one for a provisional answer and what follows it."""
        return self

    def flush(self) -> None:
        """Nothing is written; the base would complain once it is closed, and the collector closes in any order."""

    def close(self) -> None:
        """As its base; bytes beyond the answer put the connection out of step."""
        if not self.closed:
            self._source.is_over = True
            if self.peek(1):
                self._source.wire.is_in_step = False
        super().close()


class _Source(io.RawIOBase):
    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.is_over = False  # nothing more is to be received, but what is in the buffer is there

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return 0 if self.is_over else self.wire.receive_into(buffer)


def headers_of(response: HTTPResponse) -> dict[str, str]:
    """The headers by lower-case name; repeated ones are joined by a comma."""
    headers: dict[str, str] = {}
    for name, value in response.getheaders():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def whole_answer(response: HTTPResponse) -> wire.HTTPResponse:
    """Read the rest of an answer, as a value; never more memory at once than what has come, whatever is announced.

    Raises:
        OSError: It is cut.
        HTTPException: It is not HTTP.
    """
    parts: list[bytes] = []
    try:
        while part := response.read(_PIECE):
            parts.append(part)
    except ValueError as error:  # a chunk of negative length
        raise HTTPException(f"malformed chunks: {error}") from error
    if response.length:
        raise ConnectionError("cut inside the answer")
    return wire.HTTPResponse(response.status, headers_of(response), b"".join(parts))


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):  # each system has its own subset
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
