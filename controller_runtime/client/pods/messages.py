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
class PodCaller:
    """Sends requests with the transport and limits of one client.

    Attributes:
        host: The source of time and threads.
        transport: Carries the requests.
        agent: The value of the `User-Agent` header.
        timeout: Seconds until a request must be answered.
    """

    host: Host
    transport: Transport
    agent: str
    timeout: float

    def request(self, key: ObjectKey, part: str, query: Query, **headers: str) -> HTTPRequest:
        """Return the GET request for the subresource `part` of a pod.

        Raises:
            ValueError: The key has no namespace.
        """
        if not key.namespace:
            raise ValueError(f"the pod {key.name} has no namespace: name it in its key")
        path = f"/api/v1/namespaces/{key.namespace}/pods/{key.name}/{part}"
        return HTTPRequest("GET", path, query, {"user-agent": self.agent, "accept": "*/*", **headers})


class Messages:
    """A WebSocket connection to a pod, with messages in both directions.

    Each message is sent only within the limits that the client's requests have at that moment: a leadership, a
    membership in the ring, a reconcile's deadline. The connection is closed when one of them ends.

    Args:
        caller: Sends the request.
        request: The request, without the headers of the upgrade.
        protocols: The subprotocols, the preferred one first.
        within: Seconds after which the connection must have ended.

    Attributes:
        protocol: The subprotocol that the server chose.

    Raises:
        APIError: The server refused the request.
        ConnectionLost: The server gave no answer, or did not accept the upgrade.

    Threads: `receive` from one, `send` from one, `close` from any.
    """

    def __init__(self, caller: PodCaller, request: HTTPRequest, protocols: tuple[str, ...], within: float) -> None:
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
            ControllerRuntimeError: A limit of the client's requests has ended. The connection is closed.
        """
        self._stream.send(message, self._deadline())

    def receive(self, until: float | None = None) -> list[bytes] | None:
        """Wait for messages and return those that have come; None when the connection has ended.

        Args:
            until: The time in monotonic seconds after which an empty list is returned; None waits without such a limit.

        Raises:
            ConnectionLost: The connection was cut, or did not end within its time.
            ControllerRuntimeError: A limit of the client's requests has ended.
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
        """Return the `ConnectionLost` for a connection that ended unexpectedly, with the request in its message."""
        return ConnectionLost(f"{self._request.method} {self._request.path}: {reason}")

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._stream.close()

    def _deadline(self) -> float:
        try:
            limit = limit_of(self._caller.transport, self._request)
        except BaseException:
            self.close()
            raise
        return self._end if limit is None else min(self._end, limit)
