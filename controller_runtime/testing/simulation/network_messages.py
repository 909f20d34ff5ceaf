# SPDX-License-Identifier: Apache-2.0
"""The client's messages on an upgraded connection of the simulated network, at the server's end."""

from __future__ import annotations

from collections import deque

from apimachinery.http import HTTPResponse, Upgraded, Watch
from controller_runtime.testing.simulation.network_server import ConnectionEnd, SimulatedServer

Arrival = HTTPResponse | list[bytes] | ConnectionEnd
"""An item that a client receives: the response or its headers, then lines or messages of a stream, then the end."""


def head_of(answer: Watch) -> HTTPResponse:
    """Return a response with the status and headers of a stream, which precede its lines or messages."""
    if isinstance(answer, Upgraded):
        return HTTPResponse(101, {**answer.headers, "sec-websocket-protocol": answer.protocol})
    return HTTPResponse(200, answer.headers)


class Incoming:
    """Messages of the client that have arrived and that the server has not taken yet, in order.

    Only the thread that the scheduler lets run executes its code, so there is no lock.
    """

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()
        self._answer: Watch | None = None
        self._is_handing = self._has_room = False

    def put(self, message: bytes, server: SimulatedServer | None, answer: Watch | None) -> None:
        """Add a message, and have a thread of the server deliver it; without `server` or `answer` it waits for later.

        Args:
            message: The message.
            server: The server; None if it is not known yet.
            answer: The server's end of the connection; None if there is none yet.
        """
        self._messages.append(message)
        self.hand_on_soon(server, answer)

    def note_room(self) -> None:
        """Record that the server may now accept a message that it refused before."""
        self._has_room = True

    def hand_on_soon(self, server: SimulatedServer | None, answer: Watch | None) -> None:
        """Have a thread of the server deliver the messages to `answer`, unless one is doing so, there are no messages,
        `answer` or `server` is None, or the server's host has crashed.
        """
        if not self._messages or answer is None or self._is_handing or server is None or server.host.crashed:
            return
        self._is_handing, self._answer = True, answer
        server.inbox.put(self._hand_on)

    def _hand_on(self) -> None:
        """Hand messages on as long as there is room; the next call of `hand_on_soon` goes on."""
        while self._messages and isinstance(self._answer, Upgraded):
            self._has_room = False
            if self._answer.send(self._messages[0]):
                self._messages.popleft()
            elif not self._has_room:
                break
        self._is_handing = False
