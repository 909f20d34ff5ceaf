# SPDX-License-Identifier: Apache-2.0
"""Which connections a server keeps: a decision about names and instants, without a socket.

A connection is a stranger until a request on it had the token. Strangers have few places and
little time, and the one that has said nothing for longest makes room for the next: other users
of the machine can neither keep a client out nor hold memory. Known connections that wait for
their next request are the next to go; one that is being answered stays.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

STRANGER_TIME = 30.0
"""Seconds in which a connection without a known request has to send a whole head."""
IDLE_TIME = 90.0
"""Seconds that a known connection may wait for its next head; a real server's."""
STRANGER_GRACE = 5.0
"""Seconds that are left to it even if others wait for its place: a restarted server meets all its clients at once."""
STRANGERS = 1024
"""Connections without a known request. One in TLS takes about 0.1 MB, and 0.6 MB more with the longest head."""

K = TypeVar("K", bound=Hashable)


class Places(Generic[K]):
    """The connections there are, by what they do.

    Args:
        limit: All connections; of these at most half are strangers.

    Threads: one owner.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._strangers_limit = max(1, min(STRANGERS, limit // 2))
        # Each with the instant of its begin or last sign of life, the oldest first.
        self._strangers: dict[K, float] = {}
        self._idle: dict[K, float] = {}
        self._busy: set[K] = set()

    def __len__(self) -> int:
        return len(self._strangers) + len(self._idle) + len(self._busy)

    def is_full(self) -> bool:
        """Whether another connection has a place only if one leaves."""
        return len(self._strangers) >= self._strangers_limit or len(self) >= self.limit

    def enter(self, key: K, now: float) -> None:
        """Take in a new connection, a stranger."""
        self._strangers[key] = now

    def spare(self, now: float, *, urgent: bool = False) -> K | None:
        """The connection that has to leave for a new one: the oldest stranger, or else one that is idle.

        None if all are being answered, or strangers that may still be about to send their first request;
        these are spared as well if it is `urgent`.
        """
        stranger = next(iter(self._strangers), None)
        if stranger is not None and (urgent or now >= self._strangers[stranger] + STRANGER_GRACE):
            return stranger
        return next(iter(self._idle), None) if len(self._strangers) < self._strangers_limit else None

    def begin(self, key: K, now: float, *, known: bool) -> None:
        """Note that a head has arrived. A request without the token makes no known connection a stranger."""
        if known or key not in self._strangers:
            if self._strangers.pop(key, None) is not None or self._idle.pop(key, None) is not None:
                self._busy.add(key)
        else:
            del self._strangers[key]
            self._strangers[key] = now  # now the last in order

    def end(self, key: K, now: float) -> None:
        """Note that a request has been answered."""
        if key in self._busy:
            self._busy.remove(key)
            self._idle[key] = now

    def leave(self, key: K) -> None:
        """Forget a connection that is gone. Idempotent."""
        self._strangers.pop(key, None)
        self._idle.pop(key, None)
        self._busy.discard(key)

    def overdue(self, now: float) -> Iterator[K]:
        """The connections whose time is up."""
        for keys, patience in ((self._strangers, STRANGER_TIME), (self._idle, IDLE_TIME)):
            for key, since in keys.items():
                if now < since + patience:
                    break
                yield key
