# SPDX-License-Identifier: Apache-2.0
"""A record of the requests that a program makes, for assertions."""

from __future__ import annotations

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport, TransportWrapper, is_upgrade


class RecordingTransport(TransportWrapper):
    """A transport around another one that records every request.

    Args:
        inner: Carries the requests.
        requests: The record to continue; None begins a new one.

    Attributes:
        requests: The record, in the order in which the requests were sent.

    Threads: any; a request is recorded before it is sent.
    """

    def __init__(self, inner: Transport, requests: list[HTTPRequest] | None = None) -> None:
        super().__init__(inner)
        self.requests: list[HTTPRequest] = [] if requests is None else requests

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self.requests.append(request)
        return self.inner.request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        self.requests.append(request)
        return self.inner.stream(request, deadline)

    def writes(self) -> list[HTTPRequest]:
        """Return the requests that may change something, in order, including those that upgrade the connection, such as
        exec.
        """
        reads = ("GET", "HEAD", "OPTIONS")
        return [request for request in self.requests if request.method not in reads or is_upgrade(request)]
