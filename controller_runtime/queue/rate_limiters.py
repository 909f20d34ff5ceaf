# SPDX-License-Identifier: Apache-2.0
"""Rate limiters: they decide how long a failed item waits, by its failures, by tokens, and by the given time.

A limiter belongs to one queue, which calls it while it holds its own lock. So a limiter needs no lock, and must not
call back into the queue: it would wait for that lock forever.

A controller uses `ItemExponential()` unless it is given another. The classic limiter of client-go, which also slows
down all items together, is `MaxOf(ItemExponential(), Bucket())`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import attrs


class RateLimiter(Protocol):
    """Decides how long a failed item waits before it is retried.

    Threads: any, one at a time, under the lock of the queue that uses the limiter. Each method must be quick, must not
    wait and must not use the queue.
    """

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure of `item` at `now` (monotonic seconds), and return the seconds to wait before the retry."""

    def forget(self, item: Hashable) -> None:
        """Forget the failures of `item`, because it succeeded or is no longer retried."""

    def num_requeues(self, item: Hashable) -> int:
        """Return how often `item` has failed since it was last forgotten."""


class _Failures:
    """The number of failures of each item that has failed and was not forgotten since."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}

    def _count(self, item: Hashable) -> int:
        """Count one failure, and return how many there were before it."""
        before = self._counts.get(item, 0)
        self._counts[item] = before + 1
        return before

    def forget(self, item: Hashable) -> None:
        """Forget the failures of `item`."""
        self._counts.pop(item, None)

    def num_requeues(self, item: Hashable) -> int:
        """Return how often `item` has failed since it was last forgotten."""
        return self._counts.get(item, 0)


class ItemExponential(_Failures):
    """Delays each item separately: `base` seconds after its first failure, doubled by each further failure.

    Args:
        base: Seconds after the first failure. The default is client-go's.
        cap: The longest delay in seconds. The default is client-go's.

    Raises:
        ValueError: `base` is not positive, or `cap` is less than `base`.
    """

    def __init__(self, base: float = 0.005, cap: float = 1000.0) -> None:
        if not 0 < base <= cap:
            raise ValueError(f"base ({base}) must be positive and at most cap ({cap})")
        super().__init__()
        self._base = base
        self._cap = cap

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure, and return the seconds to wait: twice the last delay of `item`, at most `cap`.

        `now` is unused.
        """
        # 2.0 ** 1024 would overflow; after 512 failures every sensible base has reached its cap.
        return min(self._cap, self._base * 2.0 ** min(self._count(item), 512))


class ItemFastSlow(_Failures):
    """Delays an item by `fast` seconds after each of its first `tries` failures, and by `slow` seconds after later
    ones.
    """

    def __init__(self, fast: float, slow: float, tries: int) -> None:
        super().__init__()
        self._fast = fast
        self._slow = slow
        self._tries = tries

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure, and return the seconds to wait: `fast` or `slow`. `now` is unused."""
        return self._fast if self._count(item) < self._tries else self._slow


class Bucket:
    """A token bucket that all items share: `burst` retries without a delay, then `rate` per second.

    Args:
        rate: Tokens that are added per second. The default is client-go's.
        burst: Tokens at the start, which is also the maximum. The default is client-go's.

    Raises:
        ValueError: `rate` is not positive, or `burst` is less than one.
    """

    def __init__(self, rate: float = 10.0, burst: int = 100) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"rate ({rate}) must be positive and burst ({burst}) at least 1")
        self._rate = rate
        self._burst = burst
        # Tokens at the time `_at`. A negative number counts tokens that were given away before they exist.
        self._tokens = float(burst)
        self._at: float | None = None

    def when(self, item: Hashable, now: float) -> float:
        """Reserve one token at `now` (monotonic seconds), and return the seconds until it is available."""
        elapsed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._tokens = min(self._burst, self._tokens + elapsed * self._rate) - 1.0
        self._at = now
        return max(0.0, -self._tokens / self._rate)

    def forget(self, item: Hashable) -> None:
        """Do nothing: a bucket does not count failures by item."""

    def num_requeues(self, item: Hashable) -> int:
        """Return 0: a bucket does not count failures by item."""
        return 0


class MaxOf:
    """Delays by the longest delay of several limiters. Each of them counts every failure."""

    def __init__(self, *limiters: RateLimiter) -> None:
        if not limiters:
            raise ValueError("MaxOf needs at least one limiter")
        self._limiters = limiters

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure with every limiter at `now` (monotonic seconds); return the longest delay in seconds."""
        return max([limiter.when(item, now) for limiter in self._limiters])

    def forget(self, item: Hashable) -> None:
        """Forget the failures of `item` with every limiter."""
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: Hashable) -> int:
        """Return the largest count of failures of `item` among the limiters."""
        return max([limiter.num_requeues(item) for limiter in self._limiters])


@attrs.frozen
class MaxWait:
    """Wraps a limiter and shortens its delays to at most `longest` seconds."""

    limiter: RateLimiter
    longest: float

    def when(self, item: Hashable, now: float) -> float:
        """Count one failure with `limiter` at `now` (monotonic seconds); return its delay in seconds, at most
        `longest`.
        """
        return min(self.longest, self.limiter.when(item, now))

    def forget(self, item: Hashable) -> None:
        """Forget the failures of `item`."""
        self.limiter.forget(item)

    def num_requeues(self, item: Hashable) -> int:
        """Return how often `item` has failed since it was last forgotten."""
        return self.limiter.num_requeues(item)
