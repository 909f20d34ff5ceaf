# SPDX-License-Identifier: Apache-2.0
"""A connection with messages over HTTP: a WebSocket, whose frames `wsproto` makes and reads."""

from __future__ import annotations

import base64
import hashlib
import math
import select
from collections.abc import Mapping
from typing import NamedTuple

from apimachinery import http as api
from apimachinery.errors import ConnectionLost, UsageError
from apimachinery.host import Host
from controller_runtime.client.http.answer import Answer
from controller_runtime.client.http.connection import Connection
from controller_runtime.client.transport import Stream
from controller_runtime.core.extras import needed_by

LONGEST_MESSAGE = 4 * 1024 * 1024
"""The most bytes of one message; servers send 32 KiB at once. A longer one ends the connection."""

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
_NORMAL = (1000, 1001)
_PIECE = 64 * 1024
_LONGEST_WAIT = 3600.0  # seconds of one call of `poll`


class Malformed(Exception):
    """Raised if the peer does not speak WebSocket, or sends a message that is too long."""


class Heard(NamedTuple):
    """The result of decoding some received bytes.

    Attributes:
        messages: The messages that are complete.
        reply: The bytes to send in answer, such as to a ping.
        end: Why the peer ended the connection, empty for a normal end; None if the connection goes on.
    """

    messages: list[bytes]
    reply: bytes
    end: str | None


class MessageCodec:
    """Encodes and decodes the frames of a WebSocket for a client, after the handshake, without a socket.

    Threads: one at a time.

    Raises:
        UsageError: `wsproto` is not installed.
    """

    def __init__(self) -> None:
        with needed_by("a stream to a pod over HTTP"):
            from wsproto import connection, events, utilities

        self._events = events
        self._error = utilities.RemoteProtocolError
        self._connection = connection.Connection(connection.ConnectionType.CLIENT)
        self._message = bytearray()  # the parts of a message that is not complete

    def encoded(self, message: bytes) -> bytes:
        """Return the frame of a message, as bytes to send."""
        data: bytes = self._connection.send(self._events.BytesMessage(data=message))
        return data

    def goodbye(self) -> bytes:
        """Return the frame by which the client closes the connection, as bytes to send."""
        data: bytes = self._connection.send(self._events.CloseConnection(code=1000))
        return data

    def heard(self, data: bytes) -> Heard:
        """Decode `data`, the next received bytes, and return the messages that they complete.

        Raises:
            Malformed: The bytes are not frames, or a message is longer than `LONGEST_MESSAGE`.
        """
        messages, reply, end = [], b"", None
        try:
            self._connection.receive_data(data)
            for event in self._connection.events():
                if isinstance(event, self._events.Message):
                    part = event.data
                    self._message += part.encode() if isinstance(part, str) else part
                    if len(self._message) > LONGEST_MESSAGE:
                        raise Malformed(f"a message is longer than {LONGEST_MESSAGE} bytes")
                    if event.message_finished:
                        messages.append(bytes(self._message))
                        self._message.clear()
                elif isinstance(event, self._events.Ping):
                    reply += self._connection.send(event.response())
                elif isinstance(event, self._events.CloseConnection):
                    end = "" if event.code in _NORMAL else f"closed with {event.code} {event.reason or ''}".rstrip()
                    if self._connection.state.name == "REMOTE_CLOSING":
                        reply += self._connection.send(event.response())
        except self._error as error:
            raise Malformed(str(error)) from error
        return Heard(messages, reply, end)


def with_handshake(host: Host, request: api.HTTPRequest) -> tuple[api.HTTPRequest, str]:
    """Return the request with the headers of a WebSocket handshake, and the value that the server must answer.

    The value is that of the header `sec-websocket-accept`.
    """
    key = base64.b64encode(host.random.randbytes(16)).decode()
    headers = {"connection": "Upgrade", "sec-websocket-version": "13", "sec-websocket-key": key}
    answer = base64.b64encode(hashlib.sha1((key + _GUID).encode(), usedforsecurity=False).digest()).decode()
    return request._replace(headers={**request.headers, **headers}), answer


def check_handshake(request: api.HTTPRequest, headers: Mapping[str, str], answer: str) -> None:
    """Check that the server has accepted the WebSocket, with one of the requested subprotocols.

    Args:
        request: The request of the handshake.
        headers: The headers of the server's answer.
        answer: The expected `sec-websocket-accept`.

    Raises:
        ConnectionError: It has not.
    """
    agreed = headers.get("sec-websocket-protocol", "")
    offered = [one.strip() for one in request.headers.get("sec-websocket-protocol", "").split(",")]
    if headers.get("upgrade", "").lower() != "websocket" or headers.get("sec-websocket-accept", "") != answer:
        raise ConnectionError("the server switched to a protocol that was not asked for")
    if agreed not in offered:
        raise ConnectionError(f"the server chose the subprotocol {agreed[:80]!r}, not one of {', '.join(offered)}")


class MessageStream(Stream):
    """A `transport.Stream` with messages in both directions, over its own connection.

    Args:
        host: The source of the time and the lock.
        connection: The connection, which the stream closes.
        codec: Encodes and decodes frames.
        answer: The server's answer to the handshake.
        what: The name of the request, for messages.

    Threads: `receive` from one, `send` from one, `close` from any.
    """

    def __init__(self, host: Host, connection: Connection, codec: MessageCodec, answer: Answer, what: str) -> None:
        self.response = api.HTTPResponse(101, answer.headers)
        self._host, self._connection, self._what = host, connection, what
        self._codec = codec
        # Guards all that follows, the codec, and the socket, of which no call waits: waits are outside of the lock.
        self._lock = host.lock("message stream")
        self._socket, self._tls = connection.detached()
        self._messages: list[bytes] = []
        self._outgoing = bytearray()
        self._end: str | None = None  # the reason of the end; empty for a clean one
        self._users = 0  # calls in progress: the last one closes the descriptor, see `HTTPStream`
        self._is_closed = False
        self._hear(answer.rest())

    def read(self, deadline: float) -> list[bytes] | None:
        """Raise `UsageError`: this stream has messages, not lines."""
        raise UsageError("this stream was upgraded: it has messages, not lines")

    def receive(self, deadline: float) -> list[bytes] | None:
        """Return the messages that have come; an empty list at `deadline`; see `transport.Stream.receive`."""
        self._host.leaving("message stream")
        if not self._enter():
            return None
        try:
            while True:
                with self._lock:
                    if self._messages:
                        messages, self._messages = self._messages, []
                        return messages
                    if self._end and not self._is_closed:
                        raise ConnectionLost(f"{self._what}: {self._end}")
                    if self._is_closed or self._end is not None:
                        return None
                if not self._wait(select.POLLIN, deadline):
                    return []
                self._pull()
        finally:
            self._leave()

    def send(self, message: bytes, deadline: float) -> None:
        """Send a message; see `transport.Stream.send`."""
        self._host.leaving("message stream")
        if not self._enter():
            raise ConnectionLost(f"{self._what}: the connection has ended")
        try:
            with self._lock:
                if self._end is None:
                    self._put(self._codec.encoded(message))
            while True:
                with self._lock:
                    if self._is_closed or self._end is not None:
                        raise ConnectionLost(f"{self._what}: {self._end or 'the connection has ended'}")
                    if self._is_flushed():
                        return
                if not self._wait(select.POLLOUT, deadline):
                    raise ConnectionLost(f"{self._what}: the server took no message in time")
        finally:
            self._leave()

    def close(self) -> None:
        """Close the stream, and wake blocked calls; see `transport.Stream.close`."""
        with self._lock:
            if not self._is_closed and self._end is None:
                self._put(self._codec.goodbye())
                self._is_flushed()
            self._is_closed = True
            in_use = self._users > 0
        self._connection.shut_down()
        if not in_use:
            self._connection.close()

    def _enter(self) -> bool:
        """Note the begin of a call; return False if the stream is closed."""
        with self._lock:
            if self._is_closed:
                return False
            self._users += 1
            return True

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            is_last = self._is_closed and self._users == 0
        if is_last:
            self._connection.close()

    def _wait(self, event: int, deadline: float) -> bool:
        """Wait until the socket is ready, or broken; return False at the deadline."""
        left = deadline - self._host.monotonic()
        if left <= 0:
            return False
        poll = select.poll()
        try:
            poll.register(self._socket, event)
        except (OSError, ValueError):  # closed meanwhile
            return True
        poll.poll(math.ceil(1000 * min(left, _LONGEST_WAIT)))
        return True

    def _pull(self) -> None:
        """Receive what has come."""
        with self._lock:
            try:
                data = self._socket.recv(_PIECE)
                plain = data
                if self._tls is not None:
                    plain = self._tls.decrypted(memoryview(data)) if data else b""
                    self._outgoing += self._tls.outgoing()
                if not data or (self._tls is not None and self._tls.is_ended):
                    self._hear(plain)
                    self._end = "connection cut" if self._end is None else self._end
                else:
                    self._hear(plain)
            except BlockingIOError:
                return
            except OSError as error:
                self._end = self._connection.why(error) if self._end is None else self._end

    def _hear(self, data: bytes) -> None:
        """Note the meaning of bytes, and answer them; with the lock held."""
        if not data or self._end is not None:
            return
        try:
            heard = self._codec.heard(data)
        except Malformed as error:
            self._end = str(error)
            return
        self._messages += heard.messages
        self._end = heard.end
        if heard.reply:
            self._put(heard.reply)
            self._is_flushed()

    def _put(self, data: bytes) -> None:
        """Add bytes to those that are to be sent; with the lock held."""
        self._outgoing += data if self._tls is None else b"".join(self._tls.encrypted(data))

    def _is_flushed(self) -> bool:
        """Send what the socket takes now, and return whether that was all; with the lock held."""
        try:
            while self._outgoing:
                del self._outgoing[: self._socket.send(self._outgoing)]
        except BlockingIOError:
            return False
        except OSError as error:
            self._end = self._connection.why(error) if self._end is None else self._end
        return not self._outgoing
