# SPDX-License-Identifier: Apache-2.0
"""A rate limit on the requests of a client, as in client-go: a burst, then a number per second.

By default there is no limit, because API servers protect themselves (API priority and fairness). This is for
programs whose server does not.
"""

from __future__ import annotations

from apimachinery.errors import ConnectionLost
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from controller_runtime.client.transport import Stream, Transport, TransportWrapper

log = get_logger(__name__)

_WORTH_A_WARNING = 1.0
"""Seconds of waiting from which a warning is logged; client-go's number."""


class ThrottledTransport(TransportWrapper):
    """A `transport.Transport` that sends at most `burst` requests at once, then `qps` a second, in call order.

    A request that would have to wait beyond its deadline fails at once, and does not count.

    Args:
        host: The source of the time.
        inner: Carries the requests.
        qps: Requests per second, streams included.
        burst: Requests that may be sent at once after a pause.

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
        # Guards the four fields below; waiting requests wait on it.
        self._condition = host.condition("throttle")
        self._tokens = float(burst)  # at `_at`; negative if requests wait, each for a token of its own
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
        """Close the inner transport; requests that wait raise `ConnectionLost`."""
        with self._condition:
            self._closings += 1
            self._condition.notify_all()
        self.inner.close()

    def _wait(self, request: HTTPRequest, deadline: float) -> None:
        with self._condition:
            now = self._host.monotonic()
            wait = self._take(now, deadline)
            # A request whose deadline has passed already need not wait: the inner transport refuses it.
            is_late = wait > max(0.0, deadline - now)
            # At most one warning in ten seconds, or each waiting request would log one.
            warn = not is_late and wait > _WORTH_A_WARNING and now - self._warned_at > 10 * _WORTH_A_WARNING
            if warn:
                self._warned_at = now
            closings = self._closings
        limit = f"the client's limit of {self._qps:g} requests a second"
        if is_late:
            raise ConnectionLost(
                f"{_what(request)} was not sent: {limit} would hold it {wait:.3g} s, past its deadline"
            )
        if warn:
            log.warning("request waits for the client's own limit", asked=_what(request), seconds=wait, qps=self._qps)
        if wait and self._was_closed_before(now + wait, closings):
            raise ConnectionLost(f"{_what(request)} was not sent: the transport was closed while {limit} held it")

    def _take(self, now: float, deadline: float) -> float:
        """Return the seconds until the next request may begin, and reserve its token if that is before `deadline`."""
        tokens = min(self._burst, self._tokens + (now - self._at) * self._qps) - 1.0
        wait = max(0.0, -tokens / self._qps)
        if wait <= max(0.0, deadline - now):
            self._tokens, self._at = tokens, now
        return wait

    def _was_closed_before(self, begin_at: float, closings: int) -> bool:
        with self._condition:
            while self._closings == closings and self._host.monotonic() < begin_at:
                self._condition.wait_until(begin_at)
            return self._closings != closings


def _what(request: HTTPRequest) -> str:
    return f"{request.method} {request.path}"
