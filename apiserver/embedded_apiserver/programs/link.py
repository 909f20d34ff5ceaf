# SPDX-License-Identifier: Apache-2.0
"""One upgraded connection: its messages in both directions, between the client's reader and threads of programs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from apimachinery.host import Condition, Host

ROOM = 256 * 1024
"""The bytes that may wait in each direction: a program that writes more waits for its client, and a client for it."""
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def never() -> bool:
    """Return False."""
    return False


class Link:
    """The messages of one connection; an `http.Upgraded`, for a subclass that handles those of the client.

    Args:
        host: Provides the lock.
        protocol: The subprotocol.
        on_ready: Called when there are messages for the client, or room for its own; with no lock held.

    Attributes:
        protocol: As given.
        headers: The headers of the answer.
        condition: Guards the messages, and all that programs share with this connection; programs wait on it.

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
        """Send a message to the client, once there is room; drop it if the client is gone.

        Args:
            message: The message.
            is_urgent: Called with the lock held: whether to wait for no room, as for the end of a process.
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
        """End the connection after the messages so far. Idempotent."""
        with self.condition:
            self._is_over = True
            self.condition.notify_all()
        self.notify()

    @property
    def is_closed(self) -> bool:
        """Whether the client is gone."""
        return self._is_closed  # set once and never cleared, so read without the lock

    # The side of the client.

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """See `http.Watch.take`."""
        with self.condition:
            taken = [self._outgoing.popleft() for _ in range(min(limit, len(self._outgoing)))]
            self._pending -= sum(map(len, taken))
            self.condition.notify_all()
            return taken, self._is_closed or (self._is_over and not self._outgoing)

    def next_wake(self) -> float | None:
        """Return None: `on_ready` announces each message."""
        return None

    def close(self) -> None:
        """Note that the client is gone: its input ends, and output is dropped. Idempotent."""
        with self.condition:
            was_closed, self._is_closed = self._is_closed, True
            self._outgoing.clear()
            self._pending = 0
            self.condition.notify_all()
        if not was_closed:
            self._on_close()

    def send(self, message: bytes) -> bool:
        """See `http.Upgraded.send`."""
        raise NotImplementedError

    def _on_close(self) -> None:
        """End the input of the programs."""
