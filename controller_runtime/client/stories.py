# SPDX-License-Identifier: Apache-2.0
"""A transport that adds each request of a reconcile to the steps of that reconcile."""

from __future__ import annotations

from apimachinery.errors import ControllerRuntimeError
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport, TransportWrapper
from controller_runtime.core.story import Steps, current_steps


class ReconcileStoryTransport(TransportWrapper):
    """A `transport.Transport` that adds method, path and status of each request to the steps of the running reconcile.

    If a request raised an error, the name of its class replaces the status. Bodies are not recorded.

    Args:
        inner: Carries the requests.

    Threads: any.
    """

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        steps = current_steps()
        if steps is None:
            return self.inner.request(request, deadline)
        try:
            response = self.inner.request(request, deadline)
        except ControllerRuntimeError as error:
            _note(steps, request, type(error).__name__)
            raise
        _note(steps, request, response.status)
        return response

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        steps = current_steps()
        if steps is None:
            return self.inner.stream(request, deadline)
        try:
            stream = self.inner.stream(request, deadline)
        except ControllerRuntimeError as error:
            _note(steps, request, type(error).__name__)
            raise
        _note(steps, request, stream.response.status)
        return stream


def _note(steps: Steps, request: HTTPRequest, end: object) -> None:
    step = (request.method, request.path, "server", end)
    if request.method == "GET":
        steps.read(step)
    else:
        steps.write(step)
