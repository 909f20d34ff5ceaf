# SPDX-License-Identifier: Apache-2.0
"""One connection to the API server: its socket, the deadline of each wait on it, and the progress of its exchange.

An exchange is one request and its answer. The socket never blocks: each wait is a `poll` that lasts until the deadline
of the exchange at most, and is made only if there is nothing to receive yet.
"""

from __future__ import annotations

import contextlib
import enum
import math
import select
import socket
import ssl
from typing import Any

from apimachinery.host import Host
from controller_runtime.client.http.send_limit import SendLimit
from controller_runtime.client.http.tls import TLS

# TCP keep-alive as in client-go: probe after 30 s of silence, then every 15 s, nine times.
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPALIVE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 9))
# Bytes that are received at once. The memory begins with the first size, which holds the answer to a usual request, and
# doubles each time that it was filled: an idle watch costs little, and a busy one few system calls.
_LEAST, _MOST = 8 * 1024, 256 * 1024
# A reader that is quicker than the server would be woken for each few KB, which costs more than to read them. So before
# the next part of much data it waits until so many bytes have come, or so many milliseconds have passed.
_GATHERED, _GATHER_MS = 128 * 1024, 2
_LONGEST_WAIT = 3600.0  # seconds of one call of `poll`, which takes no more than 24 days; longer waits are several


class Exchange(enum.Enum):
    """The progress of one request and its answer on a connection."""

    BEGUN = "the request has not been sent whole"
    SENT = "the request has been sent, and no byte of the answer has come"
    ANSWERING = "a part of the answer has come"
    OUT_OF_STEP = "bytes have come after the answer, so the connection must not be used again"
    OVER = "the whole answer has come, and the connection can be used again"
    STREAMED = "the answer is a stream, whose reader owns the connection"


class Connection:
    """One connection to a server, from before the socket exists until it is closed.

    Args:
        host: The source of the time and the lock.
        connection_key: The client certificate and TLS files of the connection. Connections with equal keys are
            interchangeable.

    Attributes:
        connection_key: As given.
        deadline: When the current exchange must be over, in monotonic seconds.
        linger: Seconds for which `receive` may sleep first, to get more at once; see `transport.Stream`.
        is_bulk: True if much data is expected, so that receiving may wait some milliseconds for more.
        exchange: The progress of the current exchange.
        is_cut: True if the server has closed its side; data that came before may still be unread.

    Threads: one at a time; `shut_down` from any.
    """

    __slots__ = (
        "_buffer",
        "_elapsed",
        "_is_shut",
        "_lock",
        "_now",
        "_readable",
        "_send_until",
        "_socket",
        "_tls",
        "connection_key",
        "deadline",
        "exchange",
        "is_bulk",
        "is_cut",
        "linger",
    )

    def __init__(self, host: Host, connection_key: object) -> None:
        self.connection_key = connection_key
        self.deadline = 0.0
        self.linger = 0.0
        self.is_bulk = False
        self.exchange = Exchange.BEGUN
        self.is_cut = False
        self._now, self._elapsed = host.monotonic, host.elapsed
        self._send_until = 0.0
        self._tls: TLS | None = None
        self._buffer = memoryview(bytearray(_LEAST))
        self._readable = select.poll()
        # Guards changes of the two fields below: a descriptor must not be closed while another thread shuts it down,
        # or that thread would shut down another connection to which the system has given the number.
        self._lock = host.lock("connection")
        self._socket: socket.socket | None = None
        self._is_shut = False

    @property
    def is_made(self) -> bool:
        """Whether there is a socket; it may have failed already."""
        return self._socket is not None  # one reference, so whole without the lock

    @property
    def is_shut(self) -> bool:
        """Whether `shut_down` was called."""
        return self._is_shut  # set once and never cleared, so read without the lock

    def begin(self, limit: SendLimit) -> None:
        """Begin an exchange, which must be over at the deadline of `limit`."""
        self.deadline, self._send_until = limit.deadline, limit.elapsed
        self.is_bulk = False
        self.exchange = Exchange.BEGUN

    def dial(self, family: int, kind: int, protocol: int, address: tuple[Any, ...], *, tries: int = 1) -> None:
        """Connect to an address, after closing the socket of an earlier attempt.

        The attempt takes at most the remaining time divided by `tries`, the number of addresses that are left to try,
        so that an address which does not answer leaves time for the next one.

        Raises:
            OSError: The connection failed, or not in time.
        """
        self.close()
        with self._lock:
            self._socket = made = socket.socket(family, kind, protocol)
        _tune(made)
        made.settimeout(self._left() / tries)
        made.connect(address)
        made.setblocking(False)
        self._readable = select.poll()
        self._readable.register(made, select.POLLIN)

    def start_tls(self, context: ssl.SSLContext, server_name: str) -> None:
        """Perform the TLS handshake; all later data is encrypted."""
        tls = TLS(context, server_name)
        try:
            is_agreed = tls.is_agreed()
            while not is_agreed:
                self._send(tls.outgoing())
                received = self._receive()
                if not received:
                    raise ConnectionError("cut inside the TLS handshake")
                is_agreed = tls.is_agreed(received)
        except ssl.SSLError:
            with contextlib.suppress(OSError):  # the alert, by which the server learns the reason
                self._send(tls.outgoing())
            raise
        self._send(tls.outgoing())
        self._tls = tls

    def send(self, data: bytes) -> None:
        """Send all of `data`.

        Raises:
            TimeoutError: The limit of the exchange has passed, perhaps because the machine was suspended after the
                exchange began.
        """
        if self._elapsed() >= self._send_until:
            raise TimeoutError("it was too late to send the request")
        if self._tls is None:
            self._send(data)
        else:
            for piece in self._tls.encrypted(data):
                self._send(piece)
        self.exchange = Exchange.SENT

    def receive(self) -> bytes:
        """Wait for data and return it, at least one byte; empty once the server has closed its side."""
        if self.is_cut:
            return b""
        if self.is_bulk:
            self._gather()
            self._left()
        elif self.exchange is Exchange.ANSWERING:
            self._left()
        else:  # without asking first: an answer takes its time, and most changes of a stream come alone
            if self.linger and self.is_quiet():
                self._let_gather()
            self._wait(self._readable)
        tls = self._tls
        while not self.is_cut:
            received = self._receive()
            data = bytes(received) if tls is None else tls.decrypted(received)
            if tls is not None and tls.has_outgoing:  # an answer to a change of keys
                self._send(tls.outgoing())
            self.is_cut = not received or (tls is not None and tls.is_ended)
            if data:
                if self.exchange is Exchange.SENT:
                    self.exchange = Exchange.ANSWERING
                return data
        return b""

    def detached(self) -> tuple[socket.socket, TLS | None]:
        """Return the socket and its TLS state to a reader that waits by itself; `shut_down` and `close` still work."""
        return self._made, self._tls

    def is_quiet(self) -> bool:
        """Return whether no data can be received now. An idle connection that can receive anything is dead."""
        return not self._readable.poll(0)

    def _gather(self) -> None:
        with contextlib.suppress(OSError):  # a system without this option has us woken more often
            self._made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _GATHERED)
            self._readable.poll(_GATHER_MS)
            self._made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)

    def _let_gather(self) -> None:
        """Sleep for `linger` seconds or until the connection ends; data that comes meanwhile causes no wake-up."""
        poll = select.poll()
        # The owner opens and closes it; others only shut it down.
        assert self._socket is not None, "only an open connection lingers"
        poll.register(self._socket, 0)  # the end of a connection is reported without being asked for
        left = max(0.0, self.deadline - self._now())
        poll.poll(1000 * min(self.linger, left / 2))  # half, so that the data can still be received in time

    def shut_down(self) -> None:
        """Shut the connection down in both directions, so that a thread that waits on it fails.

        `close` is still needed.
        """
        with self._lock:
            self._is_shut = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # it may have ended by itself
                    self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket. Idempotent."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()

    def why(self, error: BaseException) -> str:
        """Return the reason of a failure of this connection in words, for messages."""
        if self._is_shut:  # set once and never cleared
            return "given up"
        if isinstance(error, ssl.SSLCertVerificationError):
            return "its certificate is not trusted: " + error.verify_message.rstrip(".")
        if isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
            return "it does not speak TLS"
        return str(error) or type(error).__name__

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._left()
            try:
                view = view[self._made.send(view) :]
            except BlockingIOError:
                writable = select.poll()
                writable.register(self._made, select.POLLOUT)
                self._wait(writable)

    def _receive(self) -> memoryview:
        """Receive what has come into the buffer, and return that part of it; empty at the end of the connection."""
        while True:
            try:
                count = self._made.recv_into(self._buffer)
            except BlockingIOError:
                self._wait(self._readable)
                continue
            received = self._buffer[:count]
            if count == len(self._buffer) < _MOST:
                self._buffer = memoryview(bytearray(2 * count))
            return received

    def _wait(self, poll: select.poll) -> None:
        while not poll.poll(math.ceil(1000 * min(self._left(), _LONGEST_WAIT))):
            pass  # `_left` raises once the deadline has passed
        if self._is_shut:  # set once and never cleared
            raise ConnectionAbortedError

    def _left(self) -> float:
        """Return the seconds until the deadline.

        Raises:
            ConnectionAbortedError: The connection was shut down.
            TimeoutError: No time remains.
        """
        if self._is_shut:  # set once and never cleared
            raise ConnectionAbortedError
        left = self.deadline - self._now()
        if left <= 0:
            raise TimeoutError("timed out")
        return left

    @property
    def _made(self) -> socket.socket:
        # One reference; only the owner replaces it.
        assert self._socket is not None, "it must be dialled before it is used"
        return self._socket


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):  # each operating system has some of them
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
