# SPDX-License-Identifier: Apache-2.0
"""The clocks of one simulated machine: both follow from the simulation's time, and each may be wrong."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta

from controller_runtime.testing.simulation.timeline import SECOND, VirtualTimeline, nanoseconds

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of every wall clock when a simulation begins."""

_MILLION = 1_000_000


class Clocks:
    """The wall clock and the monotonic clock of a machine.

    Args:
        timeline: The simulation's time.
        chance: Draws the origin of the monotonic clock.
        drift: Microseconds per second by which the monotonic clock is fast; negative if it is slow.

    Attributes:
        drift: As given.
        offset: Nanoseconds by which the wall clock is ahead.

    Threads: those of the simulation, which run one at a time.
    """

    def __init__(self, timeline: VirtualTimeline, chance: random.Random, drift: int) -> None:
        self.drift = drift
        self.offset = 0
        self._timeline = timeline
        # Not zero, and different on each host, because a monotonic clock begins anywhere. Not larger,
        # because floats of more seconds have no nanoseconds.
        self._origin = chance.randrange(1_000, 2_000) * SECOND + chance.randrange(SECOND)
        self._reached = 0.0
        # The nanoseconds for which the monotonic clock stood still, without those of the suspension that began last.
        self._stood_still = 0
        self._asleep_from = self._asleep_until = 0

    def now(self) -> datetime:
        """Return the time of the wall clock."""
        return EPOCH + timedelta(microseconds=(self._timeline.now + self.offset) // 1000)

    def monotonic(self) -> float:
        """Return the seconds of the monotonic clock, which drifts, and stands still while the machine is suspended."""
        elapsed = self._awake(self._timeline.now) * (_MILLION + self.drift) // _MILLION
        return max((self._origin + elapsed) / SECOND, self._reached)

    def elapsed(self) -> float:
        """Return `monotonic` plus the seconds for which the machine was suspended, measured with the same drift."""
        now = self._timeline.now
        return self.monotonic() + (now - self._awake(now)) * (_MILLION + self.drift) // _MILLION / SECOND

    def fall_asleep(self, until: int) -> None:
        """Stop the monotonic clock until an instant (nanoseconds of the simulation), as `Simulation.suspend` does."""
        now = self._timeline.now
        self._stood_still = now - self._awake(now)
        self._asleep_from, self._asleep_until = now, max(until, self._asleep_until)

    def has_reached(self, deadline: float | None) -> bool:
        """Return whether `deadline` (monotonic seconds) has passed; None never passes.

        From then on `monotonic` returns at least `deadline`.
        """
        due = self.instant_of(deadline)
        if deadline is None or due is None or due > self._timeline.now:
            return False
        # Sums of floats are off by a fraction of a nanosecond. Without this a caller that loops until `deadline`
        # could find `monotonic` just below it, and loop forever, because time stands still while it loops.
        self._reached = max(self._reached, deadline)
        return True

    def instant_of(self, deadline: float | None) -> int | None:
        """Return the nanosecond of the simulation at which `deadline` (monotonic seconds) passes; None if it never
        does.
        """
        if deadline is None or deadline == math.inf:
            return None
        elapsed = nanoseconds(deadline) - self._origin
        awake = -(-elapsed * _MILLION // (_MILLION + self.drift))  # rounded up, so that it is not before the deadline
        return awake + self._stood_still + max(0, self._asleep_until - self._asleep_from)

    def _awake(self, instant: int) -> int:
        """Return for how many nanoseconds the machine has not been suspended, at an instant that is not before now."""
        return instant - self._stood_still - max(0, min(instant, self._asleep_until) - self._asleep_from)
