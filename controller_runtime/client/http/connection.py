# SPDX-License-Identifier: Apache-2.0
"""One connection to the API server: its socket, on which every wait ends at one deadline, and how far its exchange is.

A socket's timeout starts again with each byte, so each call gets only what is left of the
time: `_ready` is where a deadline becomes a timeout.
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
"""How a connection fails: the network's errors, TLS's among them, and answers that are not HTTP."""

# What client-go asks of the kernel: probe after 30 s of silence, every 15 s, nine times.
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPALIVE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 9))


class Exchange(enum.Enum):
    """How far the exchange in hand has come."""

    BEGUN = "the request was not sent whole"
    SENT = "the request was sent, and nothing heard"
    HEARD = "a part of the answer is here"
    OUT_OF_STEP = "more has come than the answer"
    OVER = "the answer is here whole, and the connection fit for another exchange"
    STREAMED = "the answer goes on, and the connection is its reader's"


class Connection:
    """One connection, from before it is made until its descriptor is given back.

    Args:
        host: Its clock.
        made_for: As whom it will be made; compared by its user.

    Attributes:
        made_for: As given.
        deadline: When the exchange in hand must be over, in the clock's monotonic seconds.
        linger: As `transport.Stream`'s.
        turn: How far that has come.
        is_cut: Whether the server has closed its side.

    Threads: one at a time; `shut_down` from any.
    """

    __slots__ = ("_is_shut", "_lock", "_now", "_socket", "deadline", "exchange", "is_cut", "linger", "made_for")

    def __init__(self, host: Host, made_for: object) -> None:
        self.made_for = made_for
        self.deadline = 0.0
        self.linger = 0.0
        self.exchange = Exchange.BEGUN
        self.is_cut = False
        self._now = host.monotonic
        # Guards the two below where they change: nobody gives a descriptor back while another shuts it down.
        self._lock = host.lock("connection")
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
        self.exchange = Exchange.BEGUN

    def dial(self, family: int, kind: int, protocol: int, address: tuple[Any, ...], *, tries: int = 1) -> None:
        """Connect to a resolved address, in place of what was tried before, in a part of the time if `tries` are left.

        So one address that is silent leaves time for the next.
        """
        self.close()
        with self._lock:
            self._socket = socket.socket(family, kind, protocol)
        _tune(self._socket)
        self._ready(tries).connect(address)

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
        self.exchange = Exchange.SENT

    def receive_into(self, buffer: WriteableBuffer) -> int:
        """Receive what there is, at least a byte; 0 at the end."""
        if self.linger and self.is_quiet():
            self._let_gather()
        received = self._ready().recv_into(buffer)
        if not received:
            self.is_cut = True
        elif self.exchange is Exchange.SENT:
            self.exchange = Exchange.HEARD
        return received

    def is_quiet(self) -> bool:
        """Whether nothing has arrived; on an idle connection whatever has, most often its end, makes it useless."""
        poll = select.poll()
        assert self._socket is not None, "idle after it was used"
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def _let_gather(self) -> None:
        """Wait as long as one lingers, or until the connection ends; whatever comes meanwhile wakes nobody."""
        poll = select.poll()
        assert self._socket is not None, "lingering on a connection"
        poll.register(self._socket, 0)  # its end is told unasked
        left = max(0.0, self.deadline - self._now())
        poll.poll(1000 * min(self.linger, left / 2))  # what has come is still to be received in time

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

    def _ready(self, tries: int = 1) -> socket.socket:
        """The socket, with what is left of the time for its next call, or a part of it if that is one of several."""
        if self._is_shut:
            raise ConnectionAbortedError
        left = self.deadline - self._now()
        if left <= 0:
            raise TimeoutError("timed out")
        assert self._socket is not None, "dialled before it is used"
        self._socket.settimeout(left / tries)
        return self._socket


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):  # each system has its own subset
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
