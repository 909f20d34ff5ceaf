# SPDX-License-Identifier: Apache-2.0
"""Connections to a port of a pod, each over a connection of its own to the server."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest
from controller_runtime.client.pods.listener import PortListener
from controller_runtime.client.pods.messages import Messages, PodCaller

PROTOCOL = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_PIECE = 32 * 1024


class PortConnection:
    """One connection to a port of a pod, with the methods of a socket; a context manager that closes it.

    One direction cannot be closed alone.

    Args:
        messages: The connection to the API server that carries the data.

    Threads: one receives, one sends, any closes.
    """

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        # The reader's own: bytes that have come, and the channels whose first message, the number of the port, has.
        self._bytes = bytearray()
        self._begun: set[int] = set()

    def sendall(self, data: bytes) -> None:
        """Send all of `data`.

        Raises:
            ConnectionLost: The connection has ended.
        """
        for start in range(0, len(data), _PIECE):
            self._messages.send(bytes((_DATA,)) + data[start : start + _PIECE])

    def recv(self, size: int) -> bytes:
        """Wait for data, and return at most `size` bytes; empty at the end.

        Raises:
            ConnectionLost: The port could not be reached, or the connection was cut.
        """
        while not self._bytes:
            messages = self._messages.receive()
            if messages is None:
                return b""
            for message in messages:
                self._take(message)
        taken = bytes(self._bytes[:size])
        del self._bytes[:size]
        return taken

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._messages.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, message: bytes) -> None:
        channel, data = message[0] if message else -1, message[1:]
        if channel not in self._begun:
            self._begun.add(channel)
            data = data[2:]
        if channel == _DATA:
            self._bytes += data
        elif channel == _ERROR and data:
            self.close()
            raise ConnectionLost(data.decode(errors="replace"))


class PortForward:
    """A port of a pod, to which connections can be opened.

    Args:
        caller: Sends the requests.
        request: The request that opens one connection.
        within: Seconds that a connection may last.

    Threads: any.
    """

    def __init__(self, caller: PodCaller, request: HTTPRequest, within: float) -> None:
        self._caller, self._request, self._within = caller, request, within

    def connect(self) -> PortConnection:
        """Open a connection to the port.

        An error in the pod, such as a refused connection, is raised by the first `recv`.

        Raises:
            APIError: The server refused the request.
            ConnectionLost: The server gave no answer.
        """
        return PortConnection(Messages(self._caller, self._request, (PROTOCOL,), self._within))

    def listen(self, port: int = 0, address: str = "127.0.0.1") -> PortListener:
        """Return a listener that forwards each connection to a local port to the port of the pod, until it is closed.

        Args:
            port: The port on this machine; 0 lets the system choose one.
            address: The address on this machine.

        Raises:
            OSError: The port is taken, or not allowed.
        """
        return PortListener(self._caller.host, self.connect, port, address)
