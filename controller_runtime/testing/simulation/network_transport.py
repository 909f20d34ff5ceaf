# SPDX-License-Identifier: Apache-2.0
"""The client's end of the simulated network, as a transport."""

from __future__ import annotations

import io

from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream
from controller_runtime.testing.simulation.network import Network, SimulatedConnection
from controller_runtime.testing.simulation.network_server import ConnectionEnd
from controller_runtime.testing.simulation.simulation import SimulatedHost


class NetworkTransport:
    """A `transport.Transport` over a simulated network.

    Args:
        network: The network.
        host: The client's host; if it crashes, requests that it has sent still arrive.

    Threads: any thread of the host.
    """

    def __init__(self, network: Network, host: SimulatedHost) -> None:
        self._network = network
        self._host = host
        # Guards the connections that wait for an answer; `close` ends their waits from another thread.
        self._lock = host.lock("network transport")
        self._in_hand: dict[SimulatedConnection, None] = {}

    def __str__(self) -> str:
        return f"{self._host.name} over the simulated network"

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """Send a request and return its response. See `transport.Transport.request`.

        Raises:
            ConnectionLost: The connection is refused or closed, or there is no answer by `deadline`.
        """
        return self._first(self._network.begin(self._host, request), request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> NetworkStream:
        """Send a request and return the stream of its answer. See `transport.Transport.stream`.

        Raises:
            ConnectionLost: The connection is refused or closed, or there is no answer by `deadline`.
        """
        connection = self._network.begin(self._host, request)
        response = self._first(connection, request, deadline)
        return NetworkStream(connection, response, f"{request.method} {request.path}")

    def close(self) -> None:
        """End all calls that wait for an answer. See `transport.Transport.close`."""
        with self._lock:
            in_hand = [*self._in_hand]
        for connection in in_hand:
            connection.close()

    def _first(self, connection: SimulatedConnection, request: HTTPRequest, deadline: float) -> HTTPResponse:
        with self._lock:
            self._in_hand[connection] = None
        arrived = connection.mailbox.take(deadline)
        connection.is_given_up = arrived is None
        with self._lock:
            del self._in_hand[connection]
        if isinstance(arrived, HTTPResponse):
            return arrived
        how = "given up" if connection.is_closed() else "no answer in time" if arrived is None else "connection refused"
        raise ConnectionLost(f"{request.method} {request.path}: {how}")


class NetworkStream(Stream):
    """A `transport.Stream` over a simulated network.

    Threads: one reads, any closes.
    """

    def __init__(self, connection: SimulatedConnection, response: HTTPResponse, what: str) -> None:
        self.response = response
        # A log that is not followed comes whole; its lines are the reader's own.
        self._whole = io.BytesIO(response.body).readlines() if response.status == 200 else []
        self._connection = connection
        self._what = what
        if response.status not in (101, 200):
            connection.close()

    def read(self, deadline: float) -> list[bytes] | None:
        """Return the next lines; None at the end of the stream. See `transport.Stream.read`.

        Raises:
            StreamIdle: There is no complete line by `deadline`.
            ConnectionLost: The connection broke.
        """
        connection = self._connection
        if self._whole:
            lines, self._whole = self._whole, []
            return [line.removesuffix(b"\n") for line in lines]
        arrived = None if connection.is_closed() else connection.mailbox.take(deadline)
        if connection.is_closed():  # by `close`, perhaps while this thread waited
            return None
        if isinstance(arrived, list):
            return [line.removesuffix(b"\n") for line in arrived]
        connection.close()
        if arrived is None:
            raise StreamIdle(f"{self._what}: no complete line in time")
        if isinstance(arrived, ConnectionEnd) and arrived.cut:
            raise ConnectionLost(f"{self._what}: connection cut")
        return None

    def receive(self, deadline: float) -> list[bytes] | None:
        """Return the next messages; empty if there is none by `deadline`, None at the end. See
        `transport.Stream.receive`.

        Raises:
            ConnectionLost: The connection broke.
        """
        connection = self._connection
        arrived = None if connection.is_closed() else connection.mailbox.take(deadline)
        if connection.is_closed():
            return None
        if arrived is None or isinstance(arrived, list):
            return arrived or []
        connection.close()
        if isinstance(arrived, ConnectionEnd) and arrived.cut:
            raise ConnectionLost(f"{self._what}: connection cut")
        return None

    def send(self, message: bytes, deadline: float) -> None:
        """Send a message on an upgraded connection. See `transport.Stream.send`.

        Raises:
            ConnectionLost: The connection is closed, or its end has been read.
        """
        if self._connection.is_closed():
            raise ConnectionLost(f"{self._what}: the connection has ended")
        self._connection.post(message)

    def close(self) -> None:
        """Close the connection. Idempotent. See `transport.Stream.close`."""
        self._connection.close()
