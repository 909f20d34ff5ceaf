# SPDX-License-Identifier: Apache-2.0
"""A transport that reports each completed write of the running reconcile, so that its effects can be recognized."""

from __future__ import annotations

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import TransportWrapper
from controller_runtime.core.written_versions import running_reconcile


class WrittenTransport(TransportWrapper):
    """A `transport.Transport` that reports each write of the running reconcile which the server carried out.

    A write whose answer is lost is not reported, so its effects count as caused by other clients.

    Threads: any.
    """

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        response = self.inner.request(request, deadline)
        if request.method != "GET" and response.status < 300 and (running := running_reconcile.get()) is not None:
            running.watcher.wrote(running, request, response.body)
        return response
