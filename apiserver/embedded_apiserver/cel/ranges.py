# SPDX-License-Identifier: Apache-2.0
"""Ranges of sizes and costs, for the static estimate; they end at the largest unsigned integer of 64 bits."""

from __future__ import annotations

import math
from typing import NamedTuple

MOST = 2**64 - 1
"""The bound that no size and no cost exceeds."""


class Range(NamedTuple):
    """A range of sizes or costs, from `least` to `most`, both included."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """Return the range of the sums of two values, one from each range."""
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: Range) -> Range:
        """Return the range of the products of two values, one from each range."""
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> Range:
        """Return the range with both ends multiplied by `factor` and rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Range) -> Range:
        """Return the smallest range that contains both ranges."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def exactly(amount: int) -> Range:
    """Return the range that contains only `amount`."""
    return Range(amount, amount)


UNKNOWN = Range(0, MOST)
"""The range of a size of which nothing is known."""


def _scaled(amount: int, factor: float) -> int:
    product = float(amount) * factor
    return MOST if product >= 2.0**64 else math.ceil(product)
