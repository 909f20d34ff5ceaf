# SPDX-License-Identifier: Apache-2.0
"""A transport whose requests end with the work that sends them."""

from __future__ import annotations

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport
from controller_runtime.core.deadline import reconcile_deadline
from controller_runtime.core.errors import ReconcileTimeout
from controller_runtime.core.host import Host


class BoundedTransport:
    """A `transport.Transport` that waits for no answer beyond the deadline of the reconcile that asks.

    Outside of reconciles, and in those that have no deadline, it is the one inside.

    Args:
        host: Its clock says when a deadline has passed.
        inner: Carries the requests.

    Threads: any.
    """

    def __init__(self, host: Host, inner: Transport) -> None:
        self._now = host.monotonic
        self._inner = inner

    def __str__(self) -> str:
        return str(self._inner)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """See `transport.Transport.request`.

        Raises:
            ReconcileTimeout: Nothing was sent.
        """
        return self._inner.request(request, self._bounded(request, deadline))

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """See `transport.Transport.stream`.

        Raises:
            ReconcileTimeout: Nothing was sent.
        """
        return self._inner.stream(request, self._bounded(request, deadline))

    def close(self) -> None:
        """See `transport.Transport.close`."""
        self._inner.close()

    def _bounded(self, request: HTTPRequest, deadline: float) -> float:
        end = reconcile_deadline()
        if end is None:
            return deadline
        if end <= self._now():
            raise ReconcileTimeout(f"{request.method} {request.path} was not sent: the reconcile's time is up")
        return min(deadline, end)
