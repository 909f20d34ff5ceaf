# SPDX-License-Identifier: Apache-2.0
"""A transport whose streams deliver everything some seconds later."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport


class LaggingTransport:
    """Passes requests at once, and lines of a stream `lag` seconds after they came."""

    def __init__(self, host: Host, inner: Transport, lag: float) -> None:
        self._host = host
        self._inner = inner
        self._lag = lag

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        return self._inner.request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        return LaggingStream(self._host, self._inner.stream(request, deadline), self._lag)

    def close(self) -> None:
        self._inner.close()


class LaggingStream(Stream):
    """A stream of the transport. Threads: one reads, any closes."""

    def __init__(self, host: Host, inner: Stream, lag: float) -> None:
        self.response = inner.response
        self._host = host
        self._inner = inner
        self._lag = lag
        self._condition = host.condition("lagging stream")
        self._is_closed = False

    def read(self, deadline: float) -> list[bytes] | None:
        lines = self._inner.read(deadline)
        until = self._host.monotonic() + self._lag
        with self._condition:
            while not self._is_closed and self._host.monotonic() < until:
                self._condition.wait_until(until)
        return None if self._is_closed else lines

    def close(self) -> None:
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        self._inner.close()
