# SPDX-License-Identifier: Apache-2.0
"""One connection to the API server: its socket, the deadline of each wait on it, and the progress of its exchange.

An exchange is one request and its answer. A socket's timeout starts again with each call, so each call gets only the
time that is left until the deadline of the exchange; see `_ready`.
"""

from __future__ import annotations

import contextlib
import enum
import select
import socket
import ssl
from http.client import HTTPException, IncompleteRead
from typing import TYPE_CHECKING, Any

from controller_runtime.core.host import Host

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

FAILURES = (OSError, HTTPException)
"""The errors of a connection: those of the network, including TLS, and answers that are not HTTP."""

# TCP keep-alive as in client-go: probe after 30 s of silence, then every 15 s, nine times.
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPALIVE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 9))


class Exchange(enum.Enum):
    """The progress of an exchange."""

    BEGUN = "the request has not been sent whole"
    SENT = "the request has been sent, and no byte of the answer has come"
    ANSWERING = "a part of the answer has come"
    OUT_OF_STEP = "bytes have come after the answer, so the connection must not be used again"
    OVER = "the whole answer has come, and the connection can be used again"
    STREAMED = "the answer is a stream, whose reader owns the connection"


class Connection:
    """One connection, from before it is made until its descriptor is closed.

    Args:
        host: For its clock and its lock.
        connection_key: The client certificate and TLS files that it is made with; connections with equal ones are
            interchangeable.

    Attributes:
        connection_key: As given.
        deadline: When the present exchange must be over, in monotonic seconds.
        linger: As for `transport.Stream`.
        exchange: The progress of the present exchange.
        is_cut: Whether the server has closed its side.

    Threads: one at a time; `shut_down` from any.
    """

    __slots__ = ("_is_shut", "_lock", "_now", "_socket", "connection_key", "deadline", "exchange", "is_cut", "linger")

    def __init__(self, host: Host, connection_key: object) -> None:
        self.connection_key = connection_key
        self.deadline = 0.0
        self.linger = 0.0
        self.exchange = Exchange.BEGUN
        self.is_cut = False
        self._now = host.monotonic
        # Guards changes of the two fields below: a descriptor must not be closed while another thread shuts it down,
        # or that thread would shut down another connection to which the system has given the number.
        self._lock = host.lock("connection")
        self._socket: socket.socket | None = None
        self._is_shut = False

    @property
    def is_made(self) -> bool:
        """Whether there is a socket; it may have failed since."""
        return self._socket is not None

    @property
    def is_shut(self) -> bool:
        """Whether `shut_down` was called."""
        return self._is_shut

    def begin(self, deadline: float) -> None:
        """Begin an exchange."""
        self.deadline = deadline
        self.exchange = Exchange.BEGUN

    def dial(self, family: int, kind: int, protocol: int, address: tuple[Any, ...], *, tries: int = 1) -> None:
        """Connect to a resolved address, in place of the one tried before.

        If `tries` addresses are left, it takes that part of the remaining time at most, so that an address
        which does not answer leaves time for the next one.
        """
        self.close()
        with self._lock:
            self._socket = socket.socket(family, kind, protocol)
        _tune(self._socket)
        self._ready(tries).connect(address)

    def start_tls(self, context: ssl.SSLContext, server_name: str) -> None:
        """Do the TLS handshake; everything after it is encrypted."""
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
        self.exchange = Exchange.SENT

    def receive_into(self, buffer: WriteableBuffer) -> int:
        """Receive into `buffer`, at least a byte, and return how many; 0 once the server has closed its side."""
        if self.linger and self.is_quiet():
            self._let_gather()
        received = self._ready().recv_into(buffer)
        if not received:
            self.is_cut = True
        elif self.exchange is Exchange.SENT:
            self.exchange = Exchange.ANSWERING
        return received

    def is_quiet(self) -> bool:
        """Return whether nothing can be received. An idle connection that receives anything is dead."""
        poll = select.poll()
        assert self._socket is not None, "only a connection that was used can be idle"
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def _let_gather(self) -> None:
        """Sleep for `linger` seconds or until the connection ends; data that comes meanwhile causes no wake-up."""
        poll = select.poll()
        assert self._socket is not None, "only an open connection lingers"
        poll.register(self._socket, 0)  # the end of a connection is reported without being asked for
        left = max(0.0, self.deadline - self._now())
        poll.poll(1000 * min(self.linger, left / 2))  # half, so that the data can still be received in time

    def shut_down(self) -> None:
        """End it in both directions: a thread that waits on it fails. The descriptor stays valid until `close`."""
        with self._lock:
            self._is_shut = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # it may have ended by itself
                    # Not the method of SSLSocket: it would drop the TLS state under a reading thread.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the descriptor. Idempotent."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()

    def why(self, error: BaseException) -> str:
        """Return the reason of a failure in words."""
        if self._is_shut:
            return "given up"
        if isinstance(error, IncompleteRead):
            return "cut inside the answer"
        if isinstance(error, ssl.SSLCertVerificationError):
            return "its certificate is not trusted: " + error.verify_message.rstrip(".")
        if isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
            return "it does not speak TLS"
        return str(error) or type(error).__name__

    def _ready(self, tries: int = 1) -> socket.socket:
        """Return the socket, its timeout set to the remaining time divided by `tries`.

        Raises:
            ConnectionAbortedError: The connection was shut down.
            TimeoutError: No time remains.
        """
        if self._is_shut:
            raise ConnectionAbortedError
        left = self.deadline - self._now()
        if left <= 0:
            raise TimeoutError("timed out")
        assert self._socket is not None, "it must be dialled before it is used"
        self._socket.settimeout(left / tries)
        return self._socket


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):  # each operating system has some of them
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
