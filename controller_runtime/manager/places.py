# SPDX-License-Identifier: Apache-2.0
"""Which of the connections to a small server may stay: so many at a time, and the oldest goes first."""

from __future__ import annotations

from collections.abc import Callable

Drop = Callable[[], None]
"""Ends one connection."""


class Places:
    """So many connections for one purpose, in the order in which they came.

    Args:
        most: How many there may be.
        grace: Seconds that each has before it may be dropped for another.

    Threads: one.
    """

    def __init__(self, most: int, grace: float = 0.0) -> None:
        self._most = most
        self._grace = grace
        self._held: dict[Drop, float] = {}

    def __len__(self) -> int:
        return len(self._held)

    def wait_for_one(self, now: float) -> float:
        """Return the seconds until a place can be had: none if one is free, or if the oldest has had its time."""
        if len(self._held) < self._most:
            return 0.0
        return max(0.0, next(iter(self._held.values())) + self._grace - now)

    def take(self, drop: Drop, now: float) -> None:
        """Give a place to the connection that `drop` ends; if there is none left, the oldest is dropped for it."""
        while len(self._held) >= self._most:
            oldest = next(iter(self._held))
            del self._held[oldest]
            oldest()
        self._held[drop] = now

    def give_back(self, drop: Drop) -> None:
        """Free the place of a connection that was not dropped; otherwise nothing is done."""
        self._held.pop(drop, None)
