# SPDX-License-Identifier: Apache-2.0
"""A limit on how many requests a client begins, as client-go's: so many at once, then so many a second.

API servers share themselves out fairly, so nothing is limited by default; this is for
programs that must be gentle with a server that does not.
"""

from __future__ import annotations

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport, TransportWrapper
from controller_runtime.core.errors import ConnectionLost
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

_WORTH_A_WARNING = 1.0
"""Seconds of waiting, of which client-go tells people too."""


class ThrottledTransport(TransportWrapper):
    """A `transport.Transport` that begins `burst` requests at once and then `qps` a second, in the order they come.

    A request that would have to wait beyond its deadline fails at once, and takes nobody's place.

    Args:
        host: Times the waits.
        inner: Carries the requests.
        qps: Requests a second, streams among them.
        burst: How many may begin at once after a quiet time.

    Raises:
        ValueError: `qps` is not positive, or `burst` is less than one.

    Threads: any.
    """

    def __init__(self, host: Host, inner: Transport, qps: float, burst: int) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError(f"qps ({qps}) must be positive and burst ({burst}) at least 1")
        super().__init__(inner)
        self._host = host
        self._qps = qps
        self._burst = burst
        # Guards the four below; those who wait do so on it.
        self._condition = host.condition("throttle")
        self._tokens = float(burst)  # at `_at`; below zero are those that were promised ahead of time
        self._at = host.monotonic()
        self._closings = 0
        self._warned_at = -float("inf")

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self._wait(request, deadline)
        return self.inner.request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        self._wait(request, deadline)
        return self.inner.stream(request, deadline)

    def close(self) -> None:
        """Close the inner transport; requests that wait for their turn end with `ConnectionLost`."""
        with self._condition:
            self._closings += 1
            self._condition.notify_all()
        self.inner.close()

    def _wait(self, request: HTTPRequest, deadline: float) -> None:
        with self._condition:
            now = self._host.monotonic()
            wait = self._take(now, deadline)
            late = wait > max(0.0, deadline - now)  # what is late without waiting is the inner's to refuse
            tell = not late and wait > _WORTH_A_WARNING and now - self._warned_at > 10 * _WORTH_A_WARNING
            if tell:
                self._warned_at = now
            closings = self._closings
        limit = f"the client's limit of {self._qps:g} requests a second"
        if late:
            raise ConnectionLost(
                f"{_what(request)} was not sent: {limit} would hold it {wait:.3g} s, past its deadline"
            )
        if tell:
            log.warning("request waits for the client's own limit", asked=_what(request), seconds=wait, qps=self._qps)
        if wait and self._closed_before(now + wait, closings):
            raise ConnectionLost(f"{_what(request)} was not sent: given up while {limit} held it")

    def _take(self, now: float, deadline: float) -> float:
        """Seconds until the next turn; it is taken if it comes by `deadline`."""
        tokens = min(self._burst, self._tokens + (now - self._at) * self._qps) - 1.0
        wait = max(0.0, -tokens / self._qps)
        if wait <= max(0.0, deadline - now):
            self._tokens, self._at = tokens, now
        return wait

    def _closed_before(self, turn_at: float, closings: int) -> bool:
        with self._condition:
            while self._closings == closings and self._host.monotonic() < turn_at:
                self._condition.wait_until(turn_at)
            return self._closings != closings


def _what(request: HTTPRequest) -> str:
    return f"{request.method} {request.path}"
