# SPDX-License-Identifier: Apache-2.0
"""A WebSocket in a simulation, byte by byte: frames of the client's codec and of a server's, over a wire that is cut.

The wire carries the bytes of the library's own codec to a server of `wsproto`, and back. It breaks once so many bytes
have passed in both directions together; what passed before arrives.
"""

from __future__ import annotations

import math
from collections import deque

from apimachinery.errors import ConnectionLost
from apimachinery.host import Host
from apimachinery.http import Handler, HTTPRequest, HTTPResponse, Upgraded
from controller_runtime.client.http.messages import MessageCodec
from controller_runtime.client.transport import Stream


class _Signal:
    """Waits until it is called."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._condition = host.condition("byte wire")
        self._calls = 0

    def __call__(self) -> None:
        with self._condition:
            self._calls += 1
            self._condition.notify_all()

    @property
    def calls(self) -> int:
        return self._calls

    def wait(self, after: int, deadline: float) -> None:
        with self._condition:
            while self._calls == after and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)


class ByteWire:
    """A `transport.Transport` whose streams are WebSockets that are cut.

    Args:
        host: The host.
        handler: The server.
        cut_after: The bytes that pass.

    Attributes:
        passed: The bytes that have passed in both directions.
    """

    def __init__(self, host: Host, handler: Handler, cut_after: float = math.inf) -> None:
        self.host, self.handler, self.cut_after = host, handler, cut_after
        self.passed = 0

    def __str__(self) -> str:
        return "byte wire"

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        answer = self.handler.handle(request)
        assert isinstance(answer, HTTPResponse)
        return answer

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        signal = _Signal(self.host)
        answer = self.handler.handle(request, signal)
        assert isinstance(answer, Upgraded), answer
        return WireStream(self, answer, signal)

    def close(self) -> None:
        return

    def carry(self, data: bytes) -> tuple[bytes, bool]:
        """Return the bytes that pass, and whether the wire broke."""
        fits = min(len(data), max(0, self.cut_after - self.passed))
        self.passed += int(fits)
        return data[: int(fits)], fits < len(data)


class WireStream(Stream):
    """The client's end, and the server's behind it. Threads: one receives, one sends, any closes."""

    def __init__(self, wire: ByteWire, upgraded: Upgraded, signal: _Signal) -> None:
        from wsproto import connection, events

        self.response = HTTPResponse(101, {"sec-websocket-protocol": upgraded.protocol})
        self._wire, self._upgraded, self._signal, self._events = wire, upgraded, signal, events
        self._codec, self._server = MessageCodec(), connection.Connection(connection.ConnectionType.SERVER)
        self._waiting: deque[bytes] = deque()  # messages for which the server had no room
        self._end: str | None = None

    def read(self, deadline: float) -> list[bytes] | None:
        raise NotImplementedError

    def receive(self, deadline: float) -> list[bytes] | None:
        self._wire.host.leaving("byte wire")
        while True:
            calls = self._signal.calls
            messages, is_over = self._upgraded.take()
            data = b"".join(self._server.send(self._events.BytesMessage(data=each)) for each in messages)
            if is_over and self._end is None:
                data += self._server.send(self._events.CloseConnection(code=1000))
            heard = self._hear(data)
            if heard:
                return heard
            if self._end:
                self._upgraded.close()
                raise ConnectionLost(self._end)
            if self._end is not None:
                return None
            if self._wire.host.monotonic() >= deadline:
                return []
            self._signal.wait(calls, deadline)

    def send(self, message: bytes, deadline: float) -> None:
        self._wire.host.leaving("byte wire")
        if self._end is not None:
            raise ConnectionLost(self._end or "ended")
        data, is_cut = self._wire.carry(self._codec.encoded(message))
        self._server.receive_data(data)
        for event in self._server.events():
            if isinstance(event, self._events.BytesMessage):
                assert self._upgraded.send(event.data), "the exchange is short"
        if is_cut:
            self._break()
            raise ConnectionLost("connection cut")

    def close(self) -> None:
        self._upgraded.close()
        if self._end is None:
            self._end = ""
        self._signal()

    def _hear(self, data: bytes) -> list[bytes]:
        if not data or self._end is not None:
            return []
        passed, is_cut = self._wire.carry(data)
        heard = self._codec.heard(passed)
        if is_cut:
            self._break()
        elif heard.end is not None:
            self._end = heard.end
        return heard.messages

    def _break(self) -> None:
        self._end = "connection cut"
        self._upgraded.close()
        self._signal()
