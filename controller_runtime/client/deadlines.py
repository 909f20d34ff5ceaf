# SPDX-License-Identifier: Apache-2.0
"""A transport whose requests end with the work that sends them."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.errors import ReconcileTimeout
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport, TransportWrapper
from controller_runtime.core.deadline import reconcile_deadline

Limit = Callable[[HTTPRequest], float | None]
"""Absolute monotonic seconds by which a request must be over, or None for no limit. It raises to refuse the request."""


class DeadlineTransport(TransportWrapper):
    """A `transport.Transport` that shortens the deadline of each request to the deadline that `limit` returns.

    Args:
        inner: Carries the requests.
        limit: Called before each request; returns a deadline in monotonic seconds, or None. If it raises, nothing is
            sent and the caller gets the error.

    Attributes:
        limit: As given.

    Threads: any.
    """

    def __init__(self, inner: Transport, limit: Limit) -> None:
        super().__init__(inner)
        self.limit = limit

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        return self.inner.request(request, self._shortened(request, deadline))

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        return self.inner.stream(request, self._shortened(request, deadline))

    def _shortened(self, request: HTTPRequest, deadline: float) -> float:
        limit = self.limit(request)
        return deadline if limit is None else min(deadline, limit)


def limit_of(transport: Transport, request: HTTPRequest) -> float | None:
    """Return the earliest deadline that `transport`, or a transport inside it, sets for `request`, or None.

    The deadline is in monotonic seconds. Readers of a stream need it: once a stream is open, its transport no longer
    bounds it.

    Raises:
        ControllerRuntimeError: A limit refuses the request.
    """
    limits = []
    while isinstance(transport, TransportWrapper):
        if isinstance(transport, DeadlineTransport) and (limit := transport.limit(request)) is not None:
            limits.append(limit)
        transport = transport.inner
    return min(limits, default=None)


def reconcile_limit(host: Host) -> Limit:
    """Return a limit for `DeadlineTransport` that ends each request of a reconcile at the reconcile's deadline.

    It returns None outside of reconciles, and in reconciles without a deadline.

    Args:
        host: The source of the time. A request that begins after the deadline raises `ReconcileTimeout`.
    """

    def limit(request: HTTPRequest) -> float | None:
        end = reconcile_deadline()
        if end is not None and end <= host.monotonic():
            raise ReconcileTimeout(f"{request.method} {request.path} was not sent: the reconcile's time is up")
        return end

    return limit
