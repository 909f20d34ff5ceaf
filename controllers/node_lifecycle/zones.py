# SPDX-License-Identifier: Apache-2.0
"""The state of each zone, and how fast its nodes may be evicted.

Where most of a zone is silent, the zone is likelier to be cut off than its nodes are to be
dead; where all zones are, the control plane is the likelier culprit. Then evicting helps nobody.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping

import attrs

from controllers.node_lifecycle.turns import Turns


class ZoneState(enum.Enum):
    """How a zone fares."""

    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


@attrs.frozen
class ZonePolicy:
    """When a zone counts as disrupted, and how many nodes a second may be evicted in it.

    Attributes:
        rate: Nodes a second in a zone that is well, and in one that is silent while others are not.
        secondary_rate: Nodes a second in a large zone that is disrupted in part; a small one evicts nobody.
        large: A zone with more nodes than this is large.
        threshold: A zone is disrupted in part if at least this share of its nodes, and at least three,
            are not ready.

    Raises:
        ValueError: A negative rate or size, or a threshold outside 0..1.
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

    def are_all_silent(self, zones: Iterable[Zone]) -> bool:
        """Whether no node that counts is ready."""
        return all(self.state(zone.ready, zone.not_ready) is ZoneState.FULL for zone in zones)

    def rate_in(self, zone: Zone, *, all_silent: bool) -> float:
        """Nodes a second that may be evicted in a zone."""
        return 0.0 if all_silent else self.rate_of(self.state(zone.ready, zone.not_ready), zone.size)


@attrs.define
class Zone:
    """The nodes that a zone counts."""

    ready: int = 0
    not_ready: int = 0

    @property
    def size(self) -> int:
        """How many there are."""
        return self.ready + self.not_ready

    def count(self, is_ready: bool, change: int = 1) -> None:
        """Take in a node, or (-1) leave it out."""
        if is_ready:
            self.ready += change
        else:
            self.not_ready += change


@attrs.frozen
class ZoneReport:
    """A zone at one instant.

    Attributes:
        rate: Nodes a second that may be evicted in it.
        waiting: Nodes that wait for their turn.
        evictions: Turns that were given so far.
    """

    zone: str
    state: ZoneState
    ready: int
    not_ready: int
    rate: float
    waiting: int
    evictions: int


class Zones:
    """All zones: which nodes each of them counts, and the line of its nodes that wait for their eviction.

    Each line moves at the rate of its zone's state from the last `judge` on.

    Threads: its owner's lock.

    Attributes:
        all_silent: Whether no node that counts was ready at the last `judge`; None before the first.
    """

    def __init__(self, policy: ZonePolicy) -> None:
        self._policy = policy
        self._zones: dict[str, Zone] = {}  # those that count a node
        self._turns: dict[str, Turns] = {}
        self.all_silent: bool | None = None

    def count(self, key: str, is_ready: bool, change: int = 1) -> None:
        """Let a zone count one node more, or (-1) one less."""
        zone = self._zones.setdefault(key, Zone())
        zone.count(is_ready, change)
        if not zone.size:
            del self._zones[key]

    def judge(self, now: float) -> list[str]:
        """Let each line go on at the rate of its zone's state; the nodes to tell.

        When the last ready node of the cluster is lost, and when the first one returns, all lines are cleared: the
        caller then tells all nodes that are not ready, and the first turn comes one turn's time later.
        """
        before, self.all_silent = self.all_silent, self._policy.are_all_silent(self._zones.values())
        told = []
        for key, turns in self._turns.items():
            told += self._go_on(self._zones.get(key, Zone()), turns, now)
        if before is None or before is self.all_silent:
            return told
        for turns in self._turns.values():
            turns.clear(now)
        return []

    def turns(self, key: str, now: float) -> Turns:
        """The line of a zone."""
        if key not in self._turns:
            rate = self._policy.rate_in(self._zones.get(key, Zone()), all_silent=bool(self.all_silent))
            self._turns[key] = Turns(rate, now, is_full=not self.all_silent)
        return self._turns[key]

    def would_evict(self, key: str, zones: Mapping[str, Zone]) -> bool:
        """Whether nodes of a zone could be evicted if the zones were like `zones`."""
        all_silent = self._policy.are_all_silent(zones.values())
        return self._policy.rate_in(zones.get(key, Zone()), all_silent=all_silent) > 0

    def reports(self) -> list[ZoneReport]:
        """Each zone that counts a node, by name."""
        all_silent = self._policy.are_all_silent(self._zones.values())
        return [self._report(key, zone, all_silent) for key, zone in sorted(self._zones.items())]

    def _go_on(self, zone: Zone, turns: Turns, now: float) -> list[str]:
        was, rate = turns.rate, self._policy.rate_in(zone, all_silent=bool(self.all_silent))
        # Where nodes return, those that return a moment later should not be evicted in that moment.
        if rate > was == 0.0 and self._policy.state(zone.ready, zone.not_ready) is not ZoneState.FULL:
            turns.empty_if_full(now)
        return turns.set_rate(rate, now)

    def _report(self, key: str, zone: Zone, all_silent: bool) -> ZoneReport:
        state, turns = self._policy.state(zone.ready, zone.not_ready), self._turns.get(key)
        waiting, given = (len(turns.waiting), turns.given) if turns is not None else (0, 0)
        rate = self._policy.rate_in(zone, all_silent=all_silent)
        return ZoneReport(key, state, zone.ready, zone.not_ready, rate, waiting, given)
