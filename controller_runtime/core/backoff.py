# SPDX-License-Identifier: Apache-2.0
"""Growing delays between tries: exponential, capped, jittered, forgotten once things have worked for a while."""

from __future__ import annotations

import random

import attrs


@attrs.frozen(kw_only=True)
class Backoff:
    """How delays grow; a value, shared freely.

    The delays are by default client-go's for a reflector (`tools/cache/reflector.go`):
    0.8 s, doubling, at most 30 s, each stretched by up to its own length. When they are
    forgotten is not; see `Retrying`.

    Attributes:
        initial: Seconds before the second try.
        factor: Growth per failure.
        cap: Longest delay in seconds, before jitter.
        jitter: Each delay is multiplied by 1 + a random part of this.
        forgotten_after: Seconds that things must work, at least, for the delays to start again.
    """

    initial: float = attrs.field(default=0.8, validator=attrs.validators.gt(0))
    factor: float = attrs.field(default=2.0, validator=attrs.validators.ge(1))
    cap: float = attrs.field(default=30.0)
    jitter: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))
    forgotten_after: float = attrs.field(default=10.0, validator=attrs.validators.ge(0))

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
    """A backoff in use: counts failures in a row.

    They are forgotten once things have worked for as long as the last delay was, and for
    `forgotten_after` at least. So nobody is asked more often than the delays allow, and yet
    a server that was restarted is found as soon as after its first restart: with two
    good minutes in place of that rule, one that is killed each minute is looked for 30 to
    60 s after it is back.

    Threads: one owner, no lock.
    """

    def __init__(self, backoff: Backoff, chance: random.Random) -> None:
        self._backoff = backoff
        self._chance = chance
        self._last_delay = 0.0
        self.failures = 0

    def next_delay(self) -> float:
        """Seconds to wait after one more failure."""
        self.failures += 1
        self._last_delay = self._backoff.delay(self.failures, self._chance)
        return self._last_delay

    def worked(self, seconds: float) -> None:
        """What was tried has worked for so long."""
        if seconds >= max(self._last_delay, self._backoff.forgotten_after):
            self.failures = 0
