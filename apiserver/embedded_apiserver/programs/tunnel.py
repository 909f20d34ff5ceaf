# SPDX-License-Identifier: Apache-2.0
"""Forwarded ports as `kubectl` requests them: SPDY in the messages of a WebSocket, two streams for each connection."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

import attrs

from apimachinery.host import Host
from embedded_apiserver.programs import spdy
from embedded_apiserver.programs.link import Link
from embedded_apiserver.programs.process import Inlet, Life

PROTOCOL = "SPDY/3.1+portforward.k8s.io"
_PROTOCOL_ERROR = 1
_REFUSED = 3


class Connect(Protocol):
    """A function that connects to a port of the pod."""

    def __call__(
        self,
        link: Link,
        port: int,
        life: Life,
        inlet: Inlet,
        put: Callable[[bytes], None],
        ended: Callable[[str], None],
    ) -> None:
        """Begin the connection; `ended` is called at its end, with the error or an empty text."""


@attrs.define(eq=False)
class _Request:
    """One connection: the numbers of its two streams, and its end at the pod once both are there."""

    error: int = 0
    data: int = 0
    life: Life | None = None
    inlet: Inlet | None = None


class Tunnel(Link):
    """The connections to ports of a pod over one WebSocket, as SPDY streams.

    Args:
        host: Creates the locks.
        on_ready: Called when there are messages for the client, or room for its messages; see `Link`.
        connect: The function that connects to a port.
    """

    def __init__(self, host: Host, on_ready: Callable[[], None], connect: Connect) -> None:
        super().__init__(host, PROTOCOL, on_ready)
        self._connect = connect
        # The reader's own: it calls `send`.
        self._decoder, self._encoder = spdy.Decoder(), spdy.Encoder()
        self._frames: deque[spdy.SPDYFrame] = deque()
        self._requests: dict[str, _Request] = {}
        self._by_data: dict[int, _Request] = {}

    def send(self, message: bytes) -> bool:
        """Process a message of the client; see `http.Upgraded.send`.

        If there is no room for a message, the result is False and the caller sends the message again. It is not decoded
        twice.
        """
        if not self._frames:
            try:
                self._frames.extend(self._decoder.feed(message))
            except spdy.Malformed:
                self._now(spdy.control(spdy.GOAWAY, struct.pack(">II", 0, _PROTOCOL_ERROR)))
                self.finish()
                return True
        while self._frames:
            if not self._handle(self._frames[0]):
                return False
            self._frames.popleft()
        return True

    def _on_close(self) -> None:
        with self.condition:
            inlets = [each.inlet for each in self._by_data.values()]
        for inlet in inlets:
            if inlet is not None:
                inlet.end()

    def _now(self, frame: bytes) -> None:
        """Send a frame without waiting for room, as the client's reader must not wait."""
        self.put(frame, is_urgent=lambda: True)

    def _handle(self, frame: spdy.SPDYFrame) -> bool:
        """Carry out a frame, and return whether there was room for its data."""
        request = self._by_data.get(frame.stream)
        inlet = request.inlet if request is not None else None
        match frame.type:
            case spdy.SYN_STREAM:
                self._open(frame)
            case spdy.DATA if inlet is not None:
                if frame.data and not inlet.feed(frame.data):
                    return False
                if frame.flags & spdy.FIN:
                    inlet.end()
            case spdy.RST_STREAM if inlet is not None and request is not None and request.life is not None:
                request.life.kill()
            case spdy.PING if frame.stream % 2:  # those of clients are odd
                self._now(spdy.control(spdy.PING, struct.pack(">I", frame.stream)))
            case spdy.GOAWAY:
                self.finish()
        return True

    def _open(self, frame: spdy.SPDYFrame) -> None:
        headers = frame.headers
        port, name = headers.get("port", ""), headers.get("requestid", "")
        if headers.get("streamtype") not in ("error", "data") or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            self._now(spdy.control(spdy.RST_STREAM, struct.pack(">II", frame.stream, _REFUSED)))
            return
        self._now(self._encoder.reply(frame.stream))
        request = self._requests.setdefault(name, _Request())
        if headers["streamtype"] == "error":
            request.error = frame.stream
        else:
            request.data = frame.stream
        if request.error and request.data:
            del self._requests[name]
            self._begin(int(port), request)

    def _begin(self, port: int, request: _Request) -> None:
        life = request.life = Life(self)
        inlet = request.inlet = Inlet(self, life)
        with self.condition:
            self._by_data[request.data] = request

        def put(payload: bytes) -> None:
            self.put(spdy.data(request.data, payload), life.is_killed)

        self._connect(self, port, life, inlet, put, partial(self._end, request))

    def _end(self, request: _Request, error: str) -> None:
        """End both streams of a connection; called by its process."""
        self._now(spdy.data(request.error, error.encode(), fin=True))
        self._now(spdy.data(request.data, b"", fin=True))
        with self.condition:
            self._by_data.pop(request.data, None)
