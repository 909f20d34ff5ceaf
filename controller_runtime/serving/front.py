# SPDX-License-Identifier: Apache-2.0
"""Connections without a thread of their own: until their first head has come, and while a prompt answer is sent.

Any peer that reaches the port can open connections. Those that say nothing have slots of their own, in which the oldest
makes way, and so have those in a handshake and those that are sent an answer: none takes the place of another purpose.
"""

from __future__ import annotations

import selectors
import socket
import ssl
from collections.abc import Callable, Generator
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from apimachinery.host import Host
from apimachinery.log import get_logger
from controller_runtime.serving.reader import HEAD_LIMIT, LINGER, PATIENCE
from controller_runtime.serving.slots import ConnectionSlots

log = get_logger(__name__)

MOST_SILENT = 64
"""Connections at a time that have sent nothing; for one more the oldest is dropped."""

GRACE = 0.1
"""Seconds that a connection has for its first byte before it may be dropped for a new one, which waits meanwhile."""

MOST_BEGUN = 128
"""Connections at a time whose handshake or first head has begun; for one more the oldest is dropped."""

STREAM_PERIOD = 1.0
"""Seconds between two parts of a stream, at least."""

STREAM_SHARE = 0.02
"""The part of the time that the parts of one stream may take: one of a large program comes less often."""

_CHUNK = 16 * 1024
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

Result = TypeVar("Result")
_Steps = Generator[tuple[int, float], bool, Result]
"""Yields the event that a connection waits for and the monotonic second until which it does, and is sent whether the
event has come."""


class ServedStream(Protocol):
    """An endless answer, of server-sent events."""

    def next(self) -> bytes:
        """Return the next part without waiting; called on the server's thread, at most once per `STREAM_PERIOD`
        seconds.
        """


class ServedConnection:
    """One connection. Threads: the server's."""

    def __init__(self, sock: socket.socket, slots: ConnectionSlots[ServedConnection], end: float) -> None:
        self.sock = sock
        self.slots = slots
        self.end = end  # the monotonic second until which it waits


class Sending(NamedTuple):
    """An answer that is sent on a connection before it is closed.

    Attributes:
        slots: The slots that limit the number of connections with such an answer.
        data: The bytes of the answer.
        stream: The source of further parts; None if there are none.
        is_refusal: True if the client may still be sending, so that it would lose the answer if the connection was
            closed at once.
    """

    slots: ConnectionSlots[ServedConnection]
    data: bytes
    stream: ServedStream | None = None
    is_refusal: bool = False


Arrived = Callable[[socket.socket, bytearray], Sending | Callable[[], None]]
"""Called once the bytes of a head have come, or more than `HEAD_LIMIT`: returns what is sent, or takes the connection
over by the function that it returns. It does not wait."""


class Front:
    """The connections that the server's own thread handles.

    Args:
        host: The source of the time.
        selector: Waits for connections; the data of each key is the function to call when its connection is ready.
        arrived: Called with a connection and its first bytes, once the head of its request or more than `HEAD_LIMIT`
            bytes have come.

    Threads: one.
    """

    def __init__(self, host: Host, selector: selectors.BaseSelector, arrived: Arrived) -> None:
        self._host = host
        self._selector = selector
        self._arrived = arrived
        self._silent = ConnectionSlots[ServedConnection](MOST_SILENT, GRACE)
        self._begun = ConnectionSlots[ServedConnection](MOST_BEGUN)
        self._all: dict[ServedConnection, _Steps[None]] = {}

    def wait_for_place(self) -> float:
        """Return the seconds to wait before `enter` may be called; zero for none."""
        return self._silent.wait_for_one(self._host.monotonic())

    def next_end(self) -> float | None:
        """Return the time (monotonic seconds) at which `expire` must be called; None if there are no connections."""
        return min((one.end for one in self._all), default=None)

    def enter(self, accepted: socket.socket, context: ssl.SSLContext | None) -> None:
        """Add an accepted connection, with TLS if `context` is given."""
        accepted.setblocking(False)
        try:
            secured = context and context.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)
        except OSError:  # the peer has gone
            accepted.close()
            return
        one = ServedConnection(secured or accepted, self._silent, self._host.monotonic() + PATIENCE)
        self._move(one, self._silent)
        self._all[one] = steps = self._steps_of(one)
        self._selector.register(one.sock, next(steps)[0], partial(self._step, one, True))

    def expire(self) -> None:
        """Close the connections whose time is over; a stream whose next part is due sends it instead."""
        now = self._host.monotonic()
        for one in [one for one in self._all if one.end <= now]:
            self._step(one, False)

    def close(self) -> None:
        """Close all connections."""
        for one in [*self._all]:
            self._drop(one)

    def _step(self, one: ServedConnection, is_ready: bool) -> None:
        if one not in self._all:  # dropped for another since the selector said that it is ready
            return
        try:
            event, one.end = self._all[one].send(is_ready)
        except (StopIteration, OSError):  # ssl's errors are OSErrors, too; the peer notices by itself
            self._drop(one)
        else:
            self._selector.modify(one.sock, event, self._selector.get_key(one.sock).data)

    def _steps_of(self, one: ServedConnection) -> _Steps[None]:
        if not (yield _READ, one.end):
            return
        self._move(one, self._begun)
        if isinstance(one.sock, ssl.SSLSocket):
            yield from _done(one, one.sock.do_handshake, _READ)
        one.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = bytearray()
        while b"\r\n\r\n" not in buffer and len(buffer) <= HEAD_LIMIT:
            if not (data := (yield from _done(one, partial(one.sock.recv, _CHUNK), _READ))):
                return
            buffer += data
        sending = self._arrived(one.sock, buffer)
        if not isinstance(sending, Sending):
            self._forget(one)
            sending()
            return
        self._move(one, sending.slots)
        yield from self._sent(one, sending.data)
        if sending.stream is not None:
            yield from self._streamed(one, sending.stream)
        if sending.is_refusal:
            socket.socket.shutdown(one.sock, socket.SHUT_WR)
            one.end = self._host.monotonic() + LINGER
            while (yield from _done(one, partial(one.sock.recv, _CHUNK), _READ)):
                pass

    def _sent(self, one: ServedConnection, data: bytes) -> _Steps[None]:
        one.end, left = self._host.monotonic() + PATIENCE, memoryview(data)
        while len(left):
            left = left[(yield from _done(one, partial(one.sock.send, left), _WRITE)) :]

    def _streamed(self, one: ServedConnection, stream: ServedStream) -> _Steps[None]:
        """Send the parts of a stream until the peer goes, sends more, or does not read."""
        is_ended = False
        while not is_ended:
            began = self._host.monotonic()
            part = _part_of(stream)
            pause = max(STREAM_PERIOD, (self._host.monotonic() - began) / STREAM_SHARE)
            yield from self._sent(one, part)
            is_ended = yield _READ, self._host.monotonic() + pause

    def _move(self, one: ServedConnection, slots: ConnectionSlots[ServedConnection]) -> None:
        one.slots.give_back(one)
        one.slots = slots
        if (oldest := slots.take(one, self._host.monotonic())) is not None:
            self._drop(oldest)

    def _forget(self, one: ServedConnection) -> None:
        if self._all.pop(one, None) is not None:
            one.slots.give_back(one)
            self._selector.unregister(one.sock)

    def _drop(self, one: ServedConnection) -> None:
        if one in self._all:
            self._forget(one)
            one.sock.close()


def _done(one: ServedConnection, act: Callable[[], Result], event: int) -> _Steps[Result]:
    """Return what `act` returns once it need not wait.

    Raises:
        TimeoutError: It had to wait for too long.
    """
    while True:
        try:
            return act()
        except ssl.SSLWantReadError:
            wanted = _READ
        except ssl.SSLWantWriteError:
            wanted = _WRITE
        except BlockingIOError:
            wanted = event
        if not (yield wanted, one.end):
            raise TimeoutError("the peer did not go on in time")


def _part_of(stream: ServedStream) -> bytes:
    try:
        return stream.next()
    except Exception:  # a part ends here, the stream does not: a comment, which a browser ignores
        log.exception("part of a stream failed")
        return b": failed\n\n"
