# SPDX-License-Identifier: Apache-2.0
"""A record of the requests a program makes, to assert on."""

from __future__ import annotations

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport


class RecordingTransport:
    """Passes everything on to another transport, and keeps the requests.

    Threads: any; a request is recorded before it is sent.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.requests: list[HTTPRequest] = []

    def __str__(self) -> str:
        return str(self._inner)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """As the inner transport's."""
        self.requests.append(request)
        return self._inner.request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """As the inner transport's."""
        self.requests.append(request)
        return self._inner.stream(request, deadline)

    def close(self) -> None:
        """As the inner transport's."""
        self._inner.close()

    def writes(self) -> list[HTTPRequest]:
        """The requests that would change something, in order."""
        return [request for request in self.requests if request.method not in ("GET", "HEAD", "OPTIONS")]
