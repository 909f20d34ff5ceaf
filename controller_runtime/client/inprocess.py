# SPDX-License-Identifier: Apache-2.0
"""A transport without a network: it calls the synchronous core of a server in this process."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.host import Host
from apimachinery.http import NO_ANSWER, Handler, HTTPRequest, HTTPResponse, Upgraded, Watch
from controller_runtime.client.impersonating import impersonation_headers, with_headers
from controller_runtime.client.transport import Stream

# Seconds. A shorter wait may end before its deadline has passed on the clock, because clocks round.
_SHORTEST_WAIT = 1e-6


class InProcessTransport:
    """A `transport.Transport` that calls an `api.http.Handler` in this process, with the same answers as over HTTP.

    Args:
        host: The host of the client; the server may have another host.
        handler: The server.
        user: The user whom all requests impersonate, such as `system:serviceaccount:default:x`, so that the roles of
            that user apply; None for the administrator.
        groups: The groups of the user in addition to `system:authenticated`. The server derives those of a service
            account from its name.

    Threads: any; the handler runs on the calling thread.
    """

    def __init__(self, host: Host, handler: Handler, *, user: str | None = None, groups: Sequence[str] = ()) -> None:
        self._host = host
        self._handler = handler
        self._impersonation = impersonation_headers(user, groups)

    def __str__(self) -> str:
        return "in-process"

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """Call the handler with a request and return the answer; see `transport.Transport.request`."""
        self._leave(request, deadline)
        answer = self._handler.handle(with_headers(request, self._impersonation))
        assert isinstance(answer, HTTPResponse), "a watch without a reader is refused by the handler's contract"
        if answer is NO_ANSWER:
            raise ConnectionLost("the server closed the connection without an answer")
        return answer

    def stream(self, request: HTTPRequest, deadline: float) -> InProcessStream:
        """Call the handler with a request and return its answer as a stream; see `transport.Transport.stream`."""
        self._leave(request, deadline)
        reader = _Reader(self._host)
        answer = self._handler.handle(with_headers(request, self._impersonation), reader.wake)
        if answer is NO_ANSWER:
            raise ConnectionLost("the server closed the connection without an answer")
        if isinstance(answer, Upgraded):
            return InProcessMessages(self._host, reader, answer, request)
        if not isinstance(answer, HTTPResponse):
            return InProcessStream(self._host, reader, answer, HTTPResponse(200, answer.headers), request)
        if answer.status == 200:
            return InProcessStream(self._host, reader, _Whole(answer), HTTPResponse(200, answer.headers), request)
        return InProcessStream(self._host, reader, _Whole(HTTPResponse(200)), answer, request)

    def close(self) -> None:
        """Do nothing: there are no connections to close."""

    def _leave(self, request: HTTPRequest, deadline: float) -> None:
        self._host.leaving("transport")
        if self._host.monotonic() >= deadline:
            raise ConnectionLost(f"{request.method} {request.path}: no answer in time")


class _Reader:
    """The signal for which a blocked reader waits. Threads: any."""

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the three fields below.
        self._condition = host.condition("in-process stream")
        self._ready = False
        self._has_room = False
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed  # without the lock: it is set once and never cleared

    def wake(self) -> None:
        with self._condition:
            self._ready = self._has_room = True
            self._condition.notify_all()

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def wait_until(self, deadline: float) -> None:
        """Wait until `wake`, `close` or `deadline`; the next wait needs another `wake`."""
        with self._condition:
            while not self._ready and not self._closed and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
            self._ready = False

    def wait_for_room(self, deadline: float) -> None:
        """Wait until the next `wake` after the last one that this noted, until `close` or until `deadline`."""
        with self._condition:
            while not self._has_room and not self._closed and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
            self._has_room = False


class InProcessStream(Stream):
    """A `transport.Stream` that reads a server's watch. Threads: one reads, any closes."""

    def __init__(self, host: Host, reader: _Reader, watch: Watch, response: HTTPResponse, request: HTTPRequest) -> None:
        self.response = response
        self._host = host
        self._reader = reader
        self._watch = watch
        self._request = request
        self._over = False  # the reader's own: it has taken the end

    def read(self, deadline: float) -> list[bytes] | None:
        """Return the next complete lines; None when the stream has ended; see `transport.Stream.read`."""
        self._host.leaving("transport stream")
        while not self._over and not self._reader.closed:
            taken, self._over = self._watch.take()
            if taken:
                return self._lines(taken)
            if self._over:
                break
            now = self._host.monotonic()
            if now >= deadline:
                self.close()
                raise StreamIdle(f"{self._request.method} {self._request.path}: no complete line in time")
            wake = self._watch.next_wake()
            self._reader.wait_until(deadline if wake is None else min(deadline, now + max(wake, _SHORTEST_WAIT)))
        self.close()
        return None

    def _lines(self, taken: list[bytes]) -> list[bytes]:
        if not taken[-1].endswith(b"\n"):
            if self.is_text and self._over:
                return b"".join(taken).split(b"\n")
            self.close()
            raise ConnectionLost(f"{self._request.method} {self._request.path}: cut inside a line")
        return [line[:-1] for line in taken]

    def close(self) -> None:
        """Close the stream, and wake a blocked `read`; see `transport.Stream.close`."""
        self._reader.close()
        self._watch.close()


class InProcessMessages(InProcessStream):
    """A `transport.Stream` with messages, in both directions. Threads: one receives, one sends, any closes."""

    def __init__(self, host: Host, reader: _Reader, upgraded: Upgraded, request: HTTPRequest) -> None:
        response = HTTPResponse(101, {**upgraded.headers, "sec-websocket-protocol": upgraded.protocol})
        super().__init__(host, reader, upgraded, response, request)
        self._upgraded = upgraded

    def receive(self, deadline: float) -> list[bytes] | None:
        """Return the messages that have come; an empty list at `deadline`; see `transport.Stream.receive`."""
        self._host.leaving("transport stream")
        while not self._over and not self._reader.closed:
            taken, self._over = self._upgraded.take()
            if taken:
                return taken
            if not self._over and self._host.monotonic() >= deadline:
                return []
            if not self._over:
                self._reader.wait_until(deadline)
        self.close()
        return None

    def send(self, message: bytes, deadline: float) -> None:
        """Send a message; see `transport.Stream.send`."""
        self._host.leaving("transport stream")
        while not self._reader.closed:
            if self._upgraded.send(message):
                return
            if self._host.monotonic() >= deadline:
                raise ConnectionLost(f"{self._request.path}: the server took no message in time")
            self._reader.wait_for_room(deadline)
        raise ConnectionLost(f"{self._request.path}: the connection has ended")


class _Whole:
    """Presents a whole answer as a watch that ends after it."""

    def __init__(self, answer: HTTPResponse) -> None:
        self.headers: Mapping[str, str] = answer.headers
        self._lines = io.BytesIO(answer.body).readlines()  # which ends lines at line feeds alone

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        lines, self._lines = self._lines, []
        return lines, True

    def next_wake(self) -> float | None:
        return None

    def close(self) -> None:
        return
