# SPDX-License-Identifier: Apache-2.0
"""Slots for the connections to a small server: a bounded number, in which the one that waits longest makes way."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_HELD = (math.inf, math.inf)


class ConnectionSlots(Generic[Key]):
    """Limits the number of connections for one purpose.

    Args:
        most: The most connections.
        grace: Seconds for which a connection has its slot before it may be closed for another; see `wait_for_one`.

    Threads: one, or its owner's lock.
    """

    def __init__(self, most: int, grace: float = 0.0) -> None:
        self._most = most
        self._grace = grace
        # Rank of each connection, and the monotonic second since which it waits for its peer; `_HELD` if it does not.
        self._taken: dict[Key, tuple[float, float]] = {}

    def __len__(self) -> int:
        """Return how many slots are taken."""
        return len(self._taken)

    def __iter__(self) -> Iterator[Key]:
        """Yield the connections."""
        return iter(self._taken)

    def wait_for_one(self, now: float) -> float:
        """Return the seconds to wait before `take`: zero if a slot is free or the oldest connection may be closed."""
        if len(self._taken) < self._most:
            return 0.0
        return max(0.0, min(since for _, since in self._taken.values()) + self._grace - now)

    def take(self, key: Key, now: float) -> Key | None:
        """Give a slot to a connection that waits for its client; return the connection that must be closed for it.

        That is the waiting connection with the lowest rank, and of these the one that has waited longest. It is `key`
        itself if all others are held, and None if a slot was free.
        """
        victim = None
        if len(self._taken) >= self._most:
            waiting = [one for one, since in self._taken.items() if since != _HELD]
            victim = min(waiting, key=self._taken.__getitem__, default=key)
            self.give_back(victim)
        if victim != key:
            self._taken[key] = (0, now)
        return victim

    def wait(self, key: Key, now: float, rank: int = 0) -> None:
        """Mark a connection as waiting for its client from `now` on, so that it may be closed to make room."""
        if key in self._taken:
            self._taken[key] = (rank, now)

    def hold(self, key: Key) -> None:
        """Mark a connection as not waiting for its client, so that it is not closed to make room."""
        if key in self._taken:
            self._taken[key] = _HELD

    def give_back(self, key: Key) -> None:
        """Free the slot of a connection; do nothing if it has none."""
        self._taken.pop(key, None)
