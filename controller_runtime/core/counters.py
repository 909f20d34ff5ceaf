# SPDX-License-Identifier: Apache-2.0
"""Counters and histograms without a dependency on Prometheus.

Each belongs to the object that it describes, and is changed under that object's lock. The manager's collector reads
them when it is scraped, so counting costs no more than an addition.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence


class Histogram:
    """Counts observations by their size. It has no lock of its own: the lock of its owner guards it.

    Args:
        bounds: Upper bounds of the buckets, ascending, each inclusive. One more bucket, without a bound, follows.
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
        """The number of observations."""
        return sum(self.counts)

    def cumulative(self) -> list[int]:
        """Return the number of observations up to each bound, and last the number of all observations."""
        running, out = 0, []
        for count in self.counts:
            running += count
            out.append(running)
        return out

    def copy(self) -> Histogram:
        """Return a copy, which can be read without the lock."""
        twin = Histogram(self.bounds)
        twin.counts = self.counts.copy()
        twin.total = self.total
        return twin
