# SPDX-License-Identifier: Apache-2.0
"""Ranges of sizes and costs, for the static estimate; they end at the largest unsigned integer of 64 bits."""

from __future__ import annotations

import math
from typing import NamedTuple

MOST = 2**64 - 1
"""The bound that no size and no cost exceeds."""


class Range(NamedTuple):
    """The least and the most that something can be."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """Return the range of sums."""
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: Range) -> Range:
        """Return the range of products."""
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> Range:
        """Return the range of multiples, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Range) -> Range:
        """Return the smallest range that contains both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def exactly(amount: int) -> Range:
    """Return the range of one amount."""
    return Range(amount, amount)


UNKNOWN = Range(0, MOST)
"""The range of a size of which nothing is known."""


def _scaled(amount: int, factor: float) -> int:
    product = float(amount) * factor
    return MOST if product >= 2.0**64 else math.ceil(product)
