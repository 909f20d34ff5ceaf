# SPDX-License-Identifier: Apache-2.0
"""One upgraded connection to a pod, held to the limits of the client's requests."""

from __future__ import annotations

import attrs

from apimachinery.errors import ConnectionLost
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.client.answers import error_of
from controller_runtime.client.deadlines import limit_of
from controller_runtime.client.transport import Transport

_UPGRADED = 101
Query = tuple[tuple[str, str], ...]


@attrs.frozen
class Caller:
    """The means to send requests: those of one client.

    Attributes:
        host: The clock, and threads.
        transport: Carries the requests.
        agent: The user agent.
        timeout: Seconds that a request may take until it is answered.
    """

    host: Host
    transport: Transport
    agent: str
    timeout: float

    def request(self, key: ObjectKey, part: str, query: Query, **headers: str) -> HTTPRequest:
        """Return the request for a subresource of a pod.

        Raises:
            ValueError: The key has no namespace.
        """
        if not key.namespace:
            raise ValueError(f"the pod {key.name} has no namespace: name it in its key")
        path = f"/api/v1/namespaces/{key.namespace}/pods/{key.name}/{part}"
        return HTTPRequest("GET", path, query, {"user-agent": self.agent, "accept": "*/*", **headers})


class Messages:
    """The messages of one connection.

    Each message is sent only within the limits of the client's requests at that moment, and the connection is closed
    when one of them is over: a leadership, a membership in the ring, a reconcile's deadline.

    Args:
        caller: Sends the request.
        request: The request, without headers of an upgrade.
        protocols: The subprotocols, the preferred one first.
        within: Seconds until the connection must be over.

    Attributes:
        protocol: The subprotocol.

    Raises:
        APIError: The server refused the request.
        ConnectionLost: It gave no answer, or none that opens a connection.

    Threads: `receive` from one, `send` from one, `close` from any.
    """

    def __init__(self, caller: Caller, request: HTTPRequest, protocols: tuple[str, ...], within: float) -> None:
        if within <= 0:
            raise ValueError(f"within ({within}) must be positive")
        self._caller = caller
        headers = {**request.headers, "upgrade": "websocket", "sec-websocket-protocol": ", ".join(protocols)}
        self._request = request._replace(headers=headers)
        now = caller.host.monotonic()
        self._within, self._end = within, now + within
        self._stream = caller.transport.stream(self._request, min(self._end, now + caller.timeout))
        response = self._stream.response
        if response.status != _UPGRADED:
            self._stream.close()
            if response.status >= 400:
                raise error_of(response)
            raise self.lost(f"the server answered {response.status} and opened no connection")
        self.protocol = response.headers.get("sec-websocket-protocol", "")

    def send(self, message: bytes) -> None:
        """Send a message.

        Raises:
            ConnectionLost: The connection has ended, or the server did not take the message in time.
            ControllerRuntimeError: A limit of the client's requests is over. The connection is closed.
        """
        self._stream.send(message, self._deadline())

    def receive(self, until: float | None = None) -> list[bytes] | None:
        """Return the messages that have come; None when the connection has ended.

        Args:
            until: Return none once this time has passed, in monotonic seconds; None waits until the end.

        Raises:
            ConnectionLost: The connection was cut, or is not over in time.
            ControllerRuntimeError: A limit of the client's requests is over.
        """
        while True:
            deadline = self._deadline()
            messages = self._stream.receive(deadline if until is None else min(deadline, until))
            if messages or messages is None:
                return messages
            now = self._caller.host.monotonic()
            if until is not None and now >= until:
                return []
            if now >= self._end:
                self.close()
                raise self.lost(f"not over within {self._within:g} s")

    def lost(self, reason: str) -> ConnectionLost:
        """Return the error of a connection that ended in a way that it should not."""
        return ConnectionLost(f"{self._request.method} {self._request.path}: {reason}")

    def close(self) -> None:
        """End the connection. Idempotent."""
        self._stream.close()

    def _deadline(self) -> float:
        try:
            limit = limit_of(self._caller.transport, self._request)
        except BaseException:
            self.close()
            raise
        return self._end if limit is None else min(self._end, limit)
