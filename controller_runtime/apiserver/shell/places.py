# SPDX-License-Identifier: Apache-2.0
"""Which connections a server keeps: a decision about names and instants, without a socket.

A connection is a stranger until a request on it had the token. Strangers have few places and
little time, and the one that has said nothing for longest makes room for the next: other users
of the machine can neither keep a client out nor hold memory. Known connections
that wait for their next request are the next to go; one that is being answered stays.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

STRANGER_TIME = 30.0
"""Seconds in which a connection without a known request has to send a whole head."""
IDLE_TIME = 90.0
"""Seconds that a known connection may wait for its next head; a real server's."""
STRANGERS = 256
"""Connections without a known request."""

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

    def enter(self, key: K, now: float) -> K | None:
        """Take in a new connection; the one that has to leave for it, if any: `key` itself if all others are busy."""
        self._strangers[key] = now
        if len(self._strangers) > self._strangers_limit:
            return next(iter(self._strangers))
        return self.spare() if len(self) > self.limit else None

    def spare(self) -> K | None:
        """The connection that is missed least: a stranger if there are two, an idle one; None if all are busy."""
        candidates = (self._strangers, self._idle) if len(self._strangers) > 1 else (self._idle, self._strangers)
        return next((key for keys in candidates for key in keys), None)

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
