# SPDX-License-Identifier: Apache-2.0
"""Slots for the connections to a small server: a bounded number, in which the oldest connection makes way."""

from __future__ import annotations

from collections.abc import Callable

Drop = Callable[[], None]
"""Ends one connection."""


class Slots:
    """A bounded number of connections for one purpose, in the order in which they came.

    Args:
        most: How many connections there may be.
        grace: Seconds that each has before it may be dropped for another.

    Threads: one.
    """

    def __init__(self, most: int, grace: float = 0.0) -> None:
        self._most = most
        self._grace = grace
        # The monotonic seconds at which each connection came, oldest first.
        self._taken: dict[Drop, float] = {}

    def __len__(self) -> int:
        """Return how many slots are taken."""
        return len(self._taken)

    def wait_for_one(self, now: float) -> float:
        """Return the seconds until `take` may be called: zero if a slot is free or the oldest may be dropped."""
        if len(self._taken) < self._most:
            return 0.0
        return max(0.0, next(iter(self._taken.values())) + self._grace - now)

    def take(self, drop: Drop, now: float) -> None:
        """Give a slot to the connection that `drop` ends. If none is free, the oldest connection is dropped for it."""
        while len(self._taken) >= self._most:
            oldest = next(iter(self._taken))
            del self._taken[oldest]
            oldest()
        self._taken[drop] = now

    def give_back(self, drop: Drop) -> None:
        """Free the slot of a connection; do nothing if the connection was dropped."""
        self._taken.pop(drop, None)
