# SPDX-License-Identifier: Apache-2.0
"""The connections of one transport: those in use, which can be shut down from outside, and idle ones."""

from __future__ import annotations

from apimachinery.host import Host
from controller_runtime.client.http.connection import Connection, Exchange

# Seconds. API servers close connections that were idle for 90 s; ours are closed before, so that no request is sent on
# a connection that is being closed.
_IDLE_LIMIT = 60.0
# Most idle connections: as many as a controller may have workers that write at the same time.
_MOST_IDLE = 32


class Pool:
    """The connections of one transport. Each is in use, idle, or owned by the reader of a stream.

    Args:
        host: The source of the time and the lock (`core.host.Host`, not a server).

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        self._now = host.monotonic
        # Guards the two fields below.
        self._lock = host.lock("pool")
        self._in_use: dict[Connection, None] = {}
        # Each with the time of its last use. The most recent is used first, so that surplus ones reach the idle limit.
        self._idle: list[tuple[float, Connection]] = []

    def take_idle(self, connection_key: object) -> Connection | None:
        """Return an idle connection with this key that seems alive; None if there is none.

        Close unusable ones on the way.
        """
        while True:
            with self._lock:
                idle_since, connection = self._idle.pop() if self._idle else (0.0, None)
            if connection is None:
                return None
            is_young = self._now() - idle_since < _IDLE_LIMIT
            if is_young and connection.connection_key == connection_key and connection.is_quiet():
                return connection
            connection.close()

    def check_out(self, connection: Connection) -> None:
        """Record that an exchange (a request and its answer) begins on a connection."""
        with self._lock:
            self._in_use[connection] = None

    def check_in(self, connection: Connection) -> None:
        """Record that the exchange has ended; keep the connection if it can be used again and fewer than 32 are idle.

        Otherwise close it, unless the reader of a stream owns it.
        """
        now = self._now()
        with self._lock:
            del self._in_use[connection]
            is_kept = connection.exchange is Exchange.OVER and len(self._idle) < _MOST_IDLE
            if is_kept:
                self._idle.append((now, connection))
        if not is_kept and connection.exchange is not Exchange.STREAMED:
            connection.close()

    def close_idle(self) -> None:
        """Close all idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def shut_down(self) -> None:
        """Shut down all connections in use, so that the threads that wait on them fail."""
        with self._lock:
            in_use = [*self._in_use]
        for connection in in_use:
            connection.shut_down()
