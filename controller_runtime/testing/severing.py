# SPDX-License-Identifier: Apache-2.0
"""A transport that ends with its process: after `sever` nothing is sent, and no answer is delivered."""

from __future__ import annotations

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport, TransportWrapper


class SeverableTransport(TransportWrapper):
    """A transport around another one that can be cut permanently.

    A request that was sent before is carried out, but its caller gets `ConnectionLost` instead of the answer.

    Args:
        inner: Carries the requests.

    Threads: any.
    """

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        # Set once and never cleared, so it needs no lock.
        self._is_severed = False

    @property
    def is_severed(self) -> bool:
        """True once `sever` has been called."""
        return self._is_severed

    def sever(self) -> None:
        """Send and deliver nothing from now on. `close` ends the requests that wait for an answer. Idempotent."""
        self._is_severed = True

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self._refuse(request)
        response = self.inner.request(request, deadline)
        self._refuse(request)
        return response

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        self._refuse(request)
        stream = self.inner.stream(request, deadline)
        if self._is_severed:
            stream.close()
        self._refuse(request)
        return _SeverableStream(self, stream)

    def _refuse(self, request: HTTPRequest) -> None:
        if self._is_severed:
            raise ConnectionLost(f"{request.method} {request.path}: the process was killed")


class _SeverableStream(Stream):
    """A stream that ends when its transport is severed. Threads: one reads, any closes."""

    def __init__(self, transport: SeverableTransport, inner: Stream) -> None:
        self.response = inner.response
        self._transport = transport
        self._inner = inner

    def read(self, deadline: float) -> list[bytes] | None:
        lines = self._inner.read(deadline)
        return None if self._transport.is_severed else lines

    def receive(self, deadline: float) -> list[bytes] | None:
        messages = self._inner.receive(deadline)
        return None if self._transport.is_severed else messages

    def send(self, message: bytes, deadline: float) -> None:
        if self._transport.is_severed:
            raise ConnectionLost("the process was killed")
        self._inner.send(message, deadline)

    def close(self) -> None:
        self._inner.close()
