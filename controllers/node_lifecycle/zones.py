# SPDX-License-Identifier: Apache-2.0
"""How a zone fares, and how fast its nodes may be evicted: pure functions, and the line its nodes wait in.

Where most of a zone is silent, the zone is likelier to be cut off than its nodes are to be
dead; where all zones are, the control plane is the likelier culprit. Then evicting helps nobody.
"""

from __future__ import annotations

import enum
import math

import attrs

_ROUNDING = 1e-6
"""What sums of seconds may be off by, as a part of one turn."""


class ZoneState(enum.Enum):
    """How a zone fares."""

    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


@attrs.frozen
class ZonePolicy:
    """When a zone counts as disrupted, and how many nodes a second may be evicted in it.

    Attributes:
        rate: Of a zone that is well, and of one that is silent while others are not.
        secondary_rate: Of a large zone that is disrupted in part; a small one evicts nobody.
        large: More nodes than that are large.
        threshold: From this share of nodes that are not ready on a zone is disrupted in part,
            if they are more than two.

    Raises:
        ValueError: A negative rate or size, or a share that is not one.
    """

    rate: float = 0.1
    secondary_rate: float = 0.01
    large: int = 50
    threshold: float = 0.55

    def __attrs_post_init__(self) -> None:
        if not (0 <= self.rate < math.inf and 0 <= self.secondary_rate < math.inf and self.large >= 0):
            raise ValueError("eviction rates and the threshold of a large cluster must be zero or more")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"the unhealthy zone threshold ({self.threshold:g}) must be between 0 and 1")

    def state(self, ready: int, not_ready: int) -> ZoneState:
        """The state of a zone by the nodes it counts."""
        if not_ready and not ready:
            return ZoneState.FULL
        if not_ready > 2 and not_ready / (not_ready + ready) >= self.threshold:
            return ZoneState.PARTIAL
        return ZoneState.NORMAL

    def rate_of(self, state: ZoneState, size: int) -> float:
        """Nodes a second that may be evicted in a zone of that state and size, if not all zones are silent."""
        if state is not ZoneState.PARTIAL:
            return self.rate
        return self.secondary_rate if size > self.large else 0.0


@attrs.define
class Zone:
    """The nodes that a zone counts."""

    ready: int = 0
    not_ready: int = 0

    @property
    def size(self) -> int:
        """How many there are."""
        return self.ready + self.not_ready


class Turns:
    """The line in which the nodes of one zone wait for their eviction: each once, first come, first served.

    One may go at once, and then one whenever the rate has made up for it. Whoever got a turn
    has it until he leaves, so that one who failed to use it need not wait for another.

    Threads: its owner's lock.

    Attributes:
        given: How many turns there have been.
    """

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._credit = 1.0 if rate else 0.0  # of at most one node, at `_at`
        self._at = now
        self.given = 0
        # Dicts for sets: they keep the order in which their members came.
        self._waiting: dict[str, None] = {}
        self._granted: dict[str, None] = {}

    @property
    def rate(self) -> float:
        """Nodes a second."""
        return self._rate

    @property
    def first(self) -> str | None:
        """Whose turn is next."""
        return next(iter(self._waiting), None)

    @property
    def waiting(self) -> list[str]:
        """Who waits, in order."""
        return [*self._waiting]

    def set_rate(self, rate: float, now: float) -> None:
        """Go on at another rate. Whoever could go can still; what was made up for in part is lost."""
        if rate != self._rate:
            self._credit = float(rate > 0 and self._credit_at(now) >= 1.0)
            self._rate, self._at = rate, now

    def ask(self, name: str, now: float) -> float | None:
        """Take a place in the line, if he has none; seconds until his turn may come, or None: not at this rate."""
        if name not in self._granted:
            self._waiting.setdefault(name)
        if not self._rate:
            return None
        if name in self._granted:
            return 0.0
        ahead = next(place for place, waiting in enumerate(self._waiting) if waiting == name)
        missing = ahead + 1.0 - self._credit_at(now)
        return missing / self._rate if missing > _ROUNDING else 0.0

    def take(self, name: str, now: float) -> None:
        """Use up the turn that `ask` just offered: from now on he has it."""
        if name in self._waiting:
            self._credit, self._at = self._credit_at(now) - 1.0, now
            del self._waiting[name]
            self._granted[name] = None
            self.given += 1

    def leave(self, name: str) -> bool:
        """He needs no turn, or has used it; True if he was next, so that somebody else is now."""
        was_first = name == self.first
        self._waiting.pop(name, None)
        self._granted.pop(name, None)
        return was_first

    def clear(self) -> None:
        """Send everybody away."""
        self._waiting.clear()
        self._granted.clear()

    def _credit_at(self, now: float) -> float:
        return min(1.0, self._credit + (now - self._at) * self._rate)
