# SPDX-License-Identifier: Apache-2.0
"""Growing delays between tries: exponential, capped, jittered, reset after a healthy time."""

from __future__ import annotations

import random

import attrs


@attrs.frozen(kw_only=True)
class Backoff:
    """How delays grow; a value, shared freely.

    The defaults are client-go's for a reflector (`tools/cache/reflector.go`): 0.8 s,
    doubling, at most 30 s, each stretched by up to its own length, forgotten after
    two good minutes.

    Attributes:
        initial: Seconds before the second try.
        factor: Growth per failure.
        cap: Longest delay in seconds, before jitter.
        jitter: Each delay is multiplied by 1 + a random part of this.
        reset_after: Seconds of health after which the delays start again.
    """

    initial: float = attrs.field(default=0.8, validator=attrs.validators.gt(0))
    factor: float = attrs.field(default=2.0, validator=attrs.validators.ge(1))
    cap: float = attrs.field(default=30.0)
    jitter: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))
    reset_after: float = attrs.field(default=120.0)

    def __attrs_post_init__(self) -> None:
        if self.cap < self.initial:
            raise ValueError(f"cap ({self.cap}) must be at least initial ({self.initial})")

    def delay(self, failures: int, chance: random.Random) -> float:
        """Seconds to wait after `failures` failures in a row (1 is the first)."""
        try:
            base = min(self.cap, self.initial * self.factor ** (failures - 1))
        except OverflowError:  # grown past what a float holds, so past the cap
            base = self.cap
        return base * (1.0 + chance.random() * self.jitter)


class Retrying:
    """A backoff in use: counts failures, forgets them after a healthy time.

    Threads: one owner, no lock.
    """

    def __init__(self, backoff: Backoff, chance: random.Random) -> None:
        self._backoff = backoff
        self._chance = chance
        self.failures = 0
        self._failed_at: float | None = None

    def next_delay(self, now: float) -> float:
        """Seconds to wait after a failure noticed at `now` (monotonic)."""
        if self._failed_at is not None and now - self._failed_at > self._backoff.reset_after:
            self.failures = 0
        self.failures += 1
        self._failed_at = now
        return self._backoff.delay(self.failures, self._chance)
