# SPDX-License-Identifier: Apache-2.0
"""Exponential backoff: growing delays between attempts, capped, jittered, and reset after a time of success."""

from __future__ import annotations

import random

import attrs


@attrs.frozen(kw_only=True)
class Backoff:
    """The parameters of a backoff: an immutable value that any number of users can share.

    The default delays are those of client-go's reflector (`tools/cache/reflector.go`): 0.8 s, doubled by each failure,
    at most 30 s, each stretched by a random part of up to its own length. The rule by which they return to the initial
    one is not client-go's; see `Retrying`.

    Attributes:
        initial: Seconds before the second attempt.
        factor: Factor by which the delay grows with each failure.
        cap: Longest delay in seconds, before jitter.
        jitter: Each delay is multiplied by 1 plus a random part of this.
        forgotten_after: Seconds that a success must last, at least, before the next delay is `initial` again.
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
        """Return the seconds to wait after `failures` failures in a row (1 is the first)."""
        try:
            base = min(self.cap, self.initial * self.factor ** (failures - 1))
        except OverflowError:  # too large for a float, so larger than the cap
            base = self.cap
        return base * (1.0 + chance.random() * self.jitter)


class Retrying:
    """Counts consecutive failures and computes the next delay.

    A success resets the count if it lasted at least as long as the last delay, and at least `forgotten_after` seconds.
    So attempts are never more frequent than the delays allow, and a server that is restarted often is still found
    quickly. (client-go resets after two minutes of success. By that rule, the delays for a server that is killed every
    minute stay at their cap, and it is found 30 to 60 s after it is back.)

    Threads: one.
    """

    def __init__(self, backoff: Backoff, chance: random.Random) -> None:
        self._backoff = backoff
        self._chance = chance
        self._last_delay = 0.0
        self.failures = 0

    def next_delay(self) -> float:
        """Count one more failure, and return the seconds to wait before the next attempt."""
        self.failures += 1
        self._last_delay = self._backoff.delay(self.failures, self._chance)
        return self._last_delay

    def worked(self, seconds: float) -> None:
        """Report a success that lasted `seconds`; if that is long enough, set the count of failures to 0."""
        if seconds >= max(self._last_delay, self._backoff.forgotten_after):
            self.failures = 0
