# SPDX-License-Identifier: Apache-2.0
"""The connections of one transport: those in hand, which can be ended from outside, and those kept for later."""

from __future__ import annotations

from controller_runtime.client.http.connection import Connection, Exchange
from controller_runtime.core.host import Host

# API servers close connections that were idle for 90 s: ours are gone before, so that nothing is sent into the closing.
_IDLE_LIMIT = 60.0
# As many as there are workers that write at once, within reason; what is beyond is closed after its exchange.
_IDLE_KEPT = 32


class Pool:
    """Each connection is in one place: in hand, kept, or its reader's. Threads: any."""

    def __init__(self, host: Host) -> None:
        self._now = host.monotonic
        # Guards the two below.
        self._lock = host.lock("pool")
        self._in_hand: dict[Connection, None] = {}
        # Each with when it was put aside; the latest is used first, so that the others can grow old.
        self._idle: list[tuple[float, Connection]] = []

    def kept(self, made_for: object) -> Connection | None:
        """A kept connection made for this one that seems alive; others are closed on the way."""
        while True:
            with self._lock:
                idle_since, connection = self._idle.pop() if self._idle else (0.0, None)
            if connection is None:
                return None
            is_young = self._now() - idle_since < _IDLE_LIMIT
            if is_young and connection.made_for == made_for and connection.is_quiet():
                return connection
            connection.close()

    def take_in_hand(self, connection: Connection) -> None:
        """An exchange begins on it."""
        with self._lock:
            self._in_hand[connection] = None

    def give_back(self, connection: Connection) -> None:
        """The exchange has ended, and its turn says what becomes of the connection."""
        now = self._now()
        with self._lock:
            del self._in_hand[connection]
            is_kept = connection.exchange is Exchange.OVER and len(self._idle) < _IDLE_KEPT
            if is_kept:
                self._idle.append((now, connection))
        if not is_kept and connection.exchange is not Exchange.STREAMED:
            connection.close()

    def close_kept(self) -> None:
        """Let go of those kept for later."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def shut_down(self) -> None:
        """End those in hand: whoever waits for one fails."""
        with self._lock:
            in_hand = [*self._in_hand]
        for connection in in_hand:
            connection.shut_down()
