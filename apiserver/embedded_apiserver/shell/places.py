# SPDX-License-Identifier: Apache-2.0
"""The decision which connections a server keeps open and which it closes; without sockets and clocks.

A connection is anonymous until a request on it has had the token. Anonymous connections are few and time out soon,
and a new one replaces the one that has been silent for longest: so other users of the machine can neither lock a
client out nor fill the memory. Next, authenticated connections without a request are closed. A connection
whose request is being answered stays open.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

ANONYMOUS_TIMEOUT = 30.0
"""Seconds until an anonymous connection must have sent the head of a request with the token."""
IDLE_TIMEOUT = 90.0
"""Seconds that an authenticated connection may wait for the head of its next request; as in a real API server."""
ANONYMOUS_GRACE = 5.0
"""Seconds in which a new anonymous connection is not replaced: after a restart all clients connect at once, and if they
replaced each other, none would succeed."""
MOST_ANONYMOUS = 1024
"""The most anonymous connections. Each takes about 0.1 MB for TLS, and 0.6 MB more with the longest head."""

K = TypeVar("K", bound=Hashable)


class Places(Generic[K]):
    """Decides which connections a server keeps open: anonymous ones, idle ones, and those with a request in progress.

    Args:
        limit: The maximum number of connections. At most half of them are anonymous, that is, without a valid token
            yet.

    Threads: one owner.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._anonymous_limit = max(1, min(MOST_ANONYMOUS, limit // 2))
        # The time at which each began or last sent a request, the earliest first: dicts keep the order of insertion.
        self._anonymous: dict[K, float] = {}
        self._idle: dict[K, float] = {}
        self._busy: set[K] = set()

    def __len__(self) -> int:
        return len(self._anonymous) + len(self._idle) + len(self._busy)

    def is_full(self) -> bool:
        """Return whether a further connection is possible only if another one is closed."""
        return len(self._anonymous) >= self._anonymous_limit or len(self) >= self.limit

    def enter(self, key: K, now: float) -> None:
        """Add a new connection, which is anonymous; `now` is in seconds of the event loop's clock."""
        self._anonymous[key] = now

    def to_close(self, now: float, *, urgent: bool = False) -> K | None:
        """Return the connection to close for a new one: the longest silent anonymous one, or else the longest idle one.

        None if all connections have a request in progress, or are anonymous and in their grace period; `urgent` ignores
        that period. If the maximum of anonymous connections is reached, no idle one is closed, because the new
        connection is anonymous as well.
        """
        anonymous = next(iter(self._anonymous), None)
        if anonymous is not None and (urgent or now >= self._anonymous[anonymous] + ANONYMOUS_GRACE):
            return anonymous
        return next(iter(self._idle), None) if len(self._anonymous) < self._anonymous_limit else None

    def begin(self, key: K, now: float, *, known: bool) -> None:
        """Record that the head of a request has arrived; `known` is True if it had a valid token.

        A request without the token does not make an authenticated connection anonymous.
        """
        if known or key not in self._anonymous:
            if self._anonymous.pop(key, None) is not None or self._idle.pop(key, None) is not None:
                self._busy.add(key)
        else:
            del self._anonymous[key]
            self._anonymous[key] = now  # moves it to the end of the order

    def end(self, key: K, now: float) -> None:
        """Record that a request has been answered."""
        if key in self._busy:
            self._busy.remove(key)
            self._idle[key] = now

    def leave(self, key: K) -> None:
        """Remove a connection that has ended. Idempotent."""
        self._anonymous.pop(key, None)
        self._idle.pop(key, None)
        self._busy.discard(key)

    def busy(self) -> tuple[K, ...]:
        """Return the connections with a request in progress."""
        return tuple(self._busy)

    def overdue(self, now: float) -> Iterator[K]:
        """Yield the connections that have timed out."""
        for keys, timeout in ((self._anonymous, ANONYMOUS_TIMEOUT), (self._idle, IDLE_TIMEOUT)):
            for key, since in keys.items():
                if now < since + timeout:
                    break  # those after it are later
                yield key
