# SPDX-License-Identifier: Apache-2.0
"""How long a failed item waits: pure arithmetic over failures, tokens and the `now` it is given.

A limiter belongs to one queue, which calls it under its own lock; it needs none itself.
Controllers get `ItemExponential()`. Upstream's classic limiter, which also slows all items
together, is `MaxOf(ItemExponential(), Bucket())`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import attrs


class RateLimiter(Protocol):
    """Decides delays. Threads: one queue's lock; it must be quick and call nobody."""

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure of `item` at `now` (monotonic) and return the seconds it must wait."""

    def forget(self, item: Hashable) -> None:
        """Forget the failures of `item`: it succeeded, or was given up."""

    def num_requeues(self, item: Hashable) -> int:
        """How often `item` has failed since it was last forgotten."""


class _Failures:
    """Failures per item, the part that most limiters share. Holds the items that are failing, no others."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}

    def _count(self, item: Hashable) -> int:
        """Count one more; how many there were before."""
        before = self._counts.get(item, 0)
        self._counts[item] = before + 1
        return before

    def forget(self, item: Hashable) -> None:
        """Forget the failures of `item`."""
        self._counts.pop(item, None)

    def num_requeues(self, item: Hashable) -> int:
        """How often `item` has failed since it was last forgotten."""
        return self._counts.get(item, 0)


class ItemExponential(_Failures):
    """Each item on its own: `base` seconds after the first failure, doubling, at most `cap`.

    The defaults are upstream's.

    Raises:
        ValueError: `base` is not positive, or `cap` is less.
    """

    def __init__(self, base: float = 0.005, cap: float = 1000.0) -> None:
        if not 0 < base <= cap:
            raise ValueError(f"base ({base}) must be positive and at most cap ({cap})")
        super().__init__()
        self._base = base
        self._cap = cap

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure; twice the last delay, at most `cap`."""
        # 2.0 ** 1024 overflows; by then every sensible base has reached its cap.
        return min(self._cap, self._base * 2.0 ** min(self._count(item), 512))


class ItemFastSlow(_Failures):
    """Each item on its own: `fast` seconds for its first `tries` failures, `slow` afterwards."""

    def __init__(self, fast: float, slow: float, tries: int) -> None:
        super().__init__()
        self._fast = fast
        self._slow = slow
        self._tries = tries

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure; `fast` or `slow`."""
        return self._fast if self._count(item) < self._tries else self._slow


class Bucket:
    """All items together: `burst` at once, then `rate` a second. It remembers no item.

    Raises:
        ValueError: `rate` is not positive, or `burst` is less than one.
    """

    def __init__(self, rate: float = 10.0, burst: int = 100) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"rate ({rate}) must be positive and burst ({burst}) at least 1")
        self._rate = rate
        self._burst = burst
        # Tokens left at `_at`; below zero are those that were promised ahead of time.
        self._tokens = float(burst)
        self._at: float | None = None

    def when(self, item: Hashable, now: float) -> float:
        """Take one token; the seconds until it exists."""
        elapsed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._tokens = min(self._burst, self._tokens + elapsed * self._rate) - 1.0
        self._at = now
        return max(0.0, -self._tokens / self._rate)

    def forget(self, item: Hashable) -> None:
        """Nothing: there is no item to forget."""

    def num_requeues(self, item: Hashable) -> int:
        """Always zero: it counts no items."""
        return 0


class MaxOf:
    """The longest delay of several limiters; each is asked every time."""

    def __init__(self, *limiters: RateLimiter) -> None:
        if not limiters:
            raise ValueError("MaxOf needs at least one limiter")
        self._limiters = limiters

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure with every member; their longest delay."""
        return max([limiter.when(item, now) for limiter in self._limiters])

    def forget(self, item: Hashable) -> None:
        """Forget the failures of `item` with every member."""
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: Hashable) -> int:
        """The largest count of any member."""
        return max([limiter.num_requeues(item) for limiter in self._limiters])


@attrs.frozen
class MaxWait:
    """Another limiter, but never more than `longest` seconds."""

    limiter: RateLimiter
    longest: float

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure; the inner delay, at most `longest`."""
        return min(self.longest, self.limiter.when(item, now))

    def forget(self, item: Hashable) -> None:
        """Forget the failures of `item`."""
        self.limiter.forget(item)

    def num_requeues(self, item: Hashable) -> int:
        """The inner count."""
        return self.limiter.num_requeues(item)
