# SPDX-License-Identifier: Apache-2.0
"""A leadership as a deadline that can be put off until it has passed once, and a transport that keeps to it."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport
from controller_runtime.core.errors import LeadershipLost
from controller_runtime.core.host import Host
from controller_runtime.election.decision import Held


class Term:
    """One leadership. Once anybody has seen it over, it is over for everybody.

    Args:
        host: Its clock decides.
        token: The fencing token.
        until: Monotonic seconds at which it ends unless it is extended before.

    Threads: any.
    """

    def __init__(self, host: Host, token: int, until: float) -> None:
        self._host = host
        self._token = token
        # Guards the two below; who finds the deadline ahead needs no lock.
        self._lock = host.lock("term")
        self._until = until
        self._is_over = False

    @property
    def held(self) -> Held:
        """Its token and its deadline."""
        return Held(self._token, self._until)

    def is_over(self) -> bool:
        """True once the deadline has passed, and for ever after."""
        if not self._is_over and self._host.monotonic() < self._until:
            return False
        with self._lock:
            return self._see()

    def extend(self, until: float) -> bool:
        """Put the deadline off to `until`; False if it has passed already."""
        with self._lock:
            if self._see():
                return False
            self._until = max(self._until, until)
            return True

    def end(self) -> None:
        """It is over now, whatever the deadline says."""
        with self._lock:
            self._is_over = True

    def _see(self) -> bool:
        self._is_over = self._is_over or self._host.monotonic() >= self._until
        return self._is_over


class FencedTransport:
    """A `transport.Transport` that sends nothing once a leadership is lost.

    A request must be over by the deadline that the leadership has as it begins. So none is sent later,
    whatever it has to wait for before, or is sent anew for; at most what was sent before can still land.

    Args:
        inner: Carries the requests.
        term: The leadership that was had last, if any; asked before each request.

    Threads: any.
    """

    def __init__(self, inner: Transport, term: Callable[[], Term | None]) -> None:
        self._inner = inner
        self._term = term

    def __str__(self) -> str:
        return str(self._inner)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """See `transport.Transport.request`.

        Raises:
            LeadershipLost: Nothing was sent.
        """
        return self._inner.request(request, self._bounded(request, deadline))

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """See `transport.Transport.stream`.

        Raises:
            LeadershipLost: Nothing was sent.
        """
        return self._inner.stream(request, self._bounded(request, deadline))

    def close(self) -> None:
        """See `transport.Transport.close`."""
        self._inner.close()

    def _bounded(self, request: HTTPRequest, deadline: float) -> float:
        term = self._term()
        if term is None:
            return deadline
        if term.is_over():
            raise LeadershipLost(f"{request.method} {request.path} was not sent: leadership is lost")
        return min(deadline, term.held.until)
