# SPDX-License-Identifier: Apache-2.0
"""One upgraded connection: its messages in both directions, between the client's reader and threads of programs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from apimachinery.host import Condition, Host

ROOM = 256 * 1024
"""The most bytes that wait in each direction. A program that writes more waits until its client reads, and a client
until its program does.
"""
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def never() -> bool:
    """Return False. It is the default for `is_urgent`."""
    return False


class Link:
    """The messages of one connection between a client and programs; an `http.Upgraded`.

    A subclass processes the messages of the client.

    Args:
        host: Creates the locks.
        protocol: The subprotocol.
        on_ready: A function that is called, with no lock held, when there are messages for the client, or room for
            messages of the client.

    Attributes:
        protocol: The subprotocol.
        headers: The headers of the response.
        condition: Guards the messages, and the state that programs share with this connection; programs wait on it.

    Threads: any.
    """

    def __init__(self, host: Host, protocol: str, on_ready: Callable[[], None]) -> None:
        self.protocol, self.headers = protocol, _NO_HEADERS
        self.condition: Condition = host.condition("link")
        self.notify = on_ready
        self._outgoing: deque[bytes] = deque()
        self._pending = 0  # the bytes of `_outgoing`
        self._is_over = self._is_closed = False

    # The side of the programs.

    def put(self, message: bytes, is_urgent: Callable[[], bool] = never) -> None:
        """Send a message to the client once there is room; drop it if the client has disconnected, or after `finish`.

        Args:
            message: The message.
            is_urgent: A function, called with the lock held, that returns True to send the message without waiting for
                room.
        """
        with self.condition:
            while self._pending > ROOM and not self._is_closed and not is_urgent():
                self.condition.wait_until(None)
            if self._is_closed or self._is_over:
                return
            self._outgoing.append(message)
            self._pending += len(message)
        self.notify()

    def finish(self) -> None:
        """End the connection after all messages so far have been sent. Idempotent."""
        with self.condition:
            self._is_over = True
            self.condition.notify_all()
        self.notify()

    @property
    def is_closed(self) -> bool:
        """True once the client has disconnected."""
        return self._is_closed  # set once and never cleared, so read without the lock

    # The side of the client.

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return messages for the client; see `http.Watch.take`."""
        with self.condition:
            taken = [self._outgoing.popleft() for _ in range(min(limit, len(self._outgoing)))]
            self._pending -= sum(map(len, taken))
            self.condition.notify_all()
            return taken, self._is_closed or (self._is_over and not self._outgoing)

    def next_wake(self) -> float | None:
        """Return None, because `on_ready` announces each message."""
        return None

    def close(self) -> None:
        """Record that the client has disconnected: input ends, and output is dropped. Idempotent."""
        with self.condition:
            was_closed, self._is_closed = self._is_closed, True
            self._outgoing.clear()
            self._pending = 0
            self.condition.notify_all()
        if not was_closed:
            self._on_close()

    def send(self, message: bytes) -> bool:
        """Process a message of the client; see `http.Upgraded.send`."""
        raise NotImplementedError

    def _on_close(self) -> None:
        """End the input of the programs."""
