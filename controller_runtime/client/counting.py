# SPDX-License-Identifier: Apache-2.0
"""A transport that counts requests, answers and durations, and reports that the server is reachable."""

from __future__ import annotations

from collections import Counter

import attrs

from apimachinery.errors import ConnectionLost
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.reachable import ServerReachable
from controller_runtime.client.transport import Stream, Transport, TransportWrapper
from controller_runtime.core.counters import Histogram

NO_ANSWER = "<error>"
"""The status code under which unanswered requests are counted; client-go uses the same text."""

# Upper bounds of the histogram's buckets in seconds; those of client-go's rest_client_request_duration_seconds.
_BOUNDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


@attrs.frozen
class RequestCounters:
    """The counters of requests at one moment.

    Attributes:
        answers: Number of requests by status code and method; the code is `NO_ANSWER` if no answer came.
        durations: Histogram of the seconds until the answer or the failure, by method; for a stream, until its headers.
    """

    answers: dict[tuple[str, str], int]
    durations: dict[str, Histogram]


class CountingTransport(TransportWrapper):
    """A `transport.Transport` that counts the requests, their answers and their durations.

    Args:
        host: The source of the time.
        inner: Carries the requests.

    Attributes:
        reachable: Notified of each answer of the server, except for 5xx (broken) and 429 (overloaded).

    Threads: any.
    """

    def __init__(self, host: Host, inner: Transport) -> None:
        self._now = host.monotonic
        super().__init__(inner)
        self.reachable = ServerReachable(host)
        # Guards the two fields below.
        self._lock = host.lock("counting transport")
        self._answers: Counter[tuple[str, str]] = Counter()
        self._durations: dict[str, Histogram] = {}

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        began = self._now()
        try:
            response = self.inner.request(request, deadline)
        except ConnectionLost:
            self._count(request.method, NO_ANSWER, began)
            raise
        self._answered(request.method, response.status, began)
        return response

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        began = self._now()
        try:
            stream = self.inner.stream(request, deadline)
        except ConnectionLost:
            self._count(request.method, NO_ANSWER, began)
            raise
        self._answered(request.method, stream.response.status, began)
        return stream

    def counters(self) -> RequestCounters:
        """Return a copy of the counts."""
        with self._lock:
            durations = {method: histogram.copy() for method, histogram in self._durations.items()}
            return RequestCounters(dict(self._answers), durations)

    def _answered(self, method: str, status: int, began: float) -> None:
        self._count(method, str(status), began)
        if status < 500 and status != 429:
            self.reachable.answered()

    def _count(self, method: str, code: str, began: float) -> None:
        took = self._now() - began
        with self._lock:
            self._answers[code, method] += 1
            if method not in self._durations:
                self._durations[method] = Histogram(_BOUNDS)
            self._durations[method].observe(took)
