# SPDX-License-Identifier: Apache-2.0
"""Plain integers that somebody else exposes.

A counter belongs to whatever it counts and is changed under its owner's lock; the
manager's collector reads them when it is scraped, so that counting costs an addition.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence


class Histogram:
    """Counts of observations by size; the owner's lock guards it.

    Args:
        bounds: Upper bounds, ascending, each inclusive; the last bucket is unbounded.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one observation."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """How many observations there were."""
        return sum(self.counts)

    def cumulative(self) -> list[int]:
        """How many observations were at most each bound, then how many in all."""
        running, out = 0, []
        for count in self.counts:
            running += count
            out.append(running)
        return out

    def copy(self) -> Histogram:
        """The counts as they are now, for a reader who holds the lock no longer."""
        twin = Histogram(self.bounds)
        twin.counts = self.counts.copy()
        twin.total = self.total
        return twin
