# SPDX-License-Identifier: Apache-2.0
"""The state of each zone, and how fast its nodes may be evicted.

If most of a zone is silent, it is more likely that the zone is cut off than that its nodes are dead. If all zones are
silent, the control plane is the more likely culprit. Evictions would then remove pods that run well.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable

import attrs

from controllers.node_lifecycle.turns import Turns


class ZoneState(enum.Enum):
    """The state of a zone, by its share of ready nodes; the values are upstream's names."""

    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


@attrs.frozen
class ZonePolicy:
    """When a zone counts as disrupted, and how many nodes per second may be evicted in it; the defaults are upstream's.

    Attributes:
        rate: Nodes per second in a normal zone, and in a fully silent one while other zones are not.
        secondary_rate: Nodes per second in a large, partially disrupted zone; in a small one no node is evicted.
        large: A zone with more nodes than this is large.
        threshold: A zone is partially disrupted if at least this share of its nodes, and at least three, are not ready;
            0 to 1.

    Raises:
        ValueError: A rate or size is negative, or the threshold is outside 0..1.
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
        """Return the state of a zone with these numbers of nodes."""
        if not_ready and not ready:
            return ZoneState.FULL
        if not_ready > 2 and not_ready / (not_ready + ready) >= self.threshold:
            return ZoneState.PARTIAL
        return ZoneState.NORMAL

    def rate_of(self, state: ZoneState, size: int) -> float:
        """Return the nodes per second that may be evicted in a zone of this state and size, if not all zones are
        silent.
        """
        if state is not ZoneState.PARTIAL:
            return self.rate
        return self.secondary_rate if size > self.large else 0.0

    def are_all_silent(self, zones: Iterable[Zone]) -> bool:
        """Return whether all nodes in the counts of these zones are not ready, and each zone has one."""
        return all(self.state(zone.ready, zone.not_ready) is ZoneState.FULL for zone in zones)

    def rate_in(self, zone: Zone, *, all_silent: bool) -> float:
        """Return the nodes per second that may be evicted in a zone; zero if all zones are silent."""
        return 0.0 if all_silent else self.rate_of(self.state(zone.ready, zone.not_ready), zone.size)


@attrs.define
class Zone:
    """The numbers of ready and of other nodes in a zone."""

    ready: int = 0
    not_ready: int = 0

    @property
    def size(self) -> int:
        """The number of all nodes in the zone."""
        return self.ready + self.not_ready

    def count(self, is_ready: bool, change: int = 1) -> None:
        """Add a node to the counts, or remove it with a `change` of -1."""
        if is_ready:
            self.ready += change
        else:
            self.not_ready += change


@attrs.frozen
class ZoneReport:
    """The state of a zone at one moment.

    Attributes:
        zone: The key of the zone.
        state: The state of the zone.
        ready: The number of its nodes that count and are ready.
        not_ready: The number of its nodes that count and are not ready.
        rate: The nodes per second that may be evicted.
        waiting: The number of nodes that wait for their eviction.
        evictions: The number of nodes that got permission to be evicted so far.
    """

    zone: str
    state: ZoneState
    ready: int
    not_ready: int
    rate: float
    waiting: int
    evictions: int


class Zones:
    """All zones, with their counts of nodes, and their queues of nodes that wait for eviction.

    Nodes that count are those without the label `views.EXCLUDED`; the caller of `count` passes only these.

    The rate of each queue is set by `judge`.

    Threads: its owner's lock.

    Attributes:
        all_silent: Whether no node that counts was ready at the last `judge`; None before the first.
    """

    def __init__(self, policy: ZonePolicy) -> None:
        self._policy = policy
        self._zones: dict[str, Zone] = {}  # only zones with nodes that count
        self._turns: dict[str, Turns] = {}
        self.all_silent: bool | None = None

    def count(self, key: str, is_ready: bool, change: int = 1) -> None:
        """Add a node to a zone, or remove it with a `change` of -1."""
        zone = self._zones.setdefault(key, Zone())
        zone.count(is_ready, change)
        if not zone.size:
            del self._zones[key]

    def judge(self, now: float) -> list[str]:
        """Set the rate of each queue by the current state of its zone, and return the nodes to wake.

        When the last ready node of the cluster is lost, and when the first one returns, all queues are cleared. The
        caller must then wake all nodes that are not ready; the first of them gets its turn one interval later.
        """
        before, self.all_silent = self.all_silent, self._policy.are_all_silent(self._zones.values())
        woken = []
        for key, turns in self._turns.items():
            woken += self._set_rate(self._zones.get(key, Zone()), turns, now)
        if before is None or before is self.all_silent:
            return woken
        for turns in self._turns.values():
            turns.clear(now)
        return []

    def turns(self, key: str, now: float) -> Turns:
        """Return the queue of a zone.

        In a new queue the first node gets its turn at once, unless all zones are silent or the zone's rate is zero.
        """
        if key not in self._turns:
            rate = self._policy.rate_in(self._zones.get(key, Zone()), all_silent=bool(self.all_silent))
            self._turns[key] = Turns(rate, now, is_full=not self.all_silent)
        return self._turns[key]

    def would_evict(self, key: str, nodes: Iterable[tuple[str, bool]]) -> bool:
        """Return whether nodes of a zone could be evicted if the cluster had these nodes.

        Args:
            key: The zone's key.
            nodes: For each node that counts, the key of its zone and whether it is ready.
        """
        zones: dict[str, Zone] = {}
        for zone, is_ready in nodes:
            zones.setdefault(zone, Zone()).count(is_ready)
        all_silent = self._policy.are_all_silent(zones.values())
        return self._policy.rate_in(zones.get(key, Zone()), all_silent=all_silent) > 0

    def reports(self) -> list[ZoneReport]:
        """Return a report of each zone with nodes that count for it, sorted by the zone's key."""
        all_silent = self._policy.are_all_silent(self._zones.values())
        return [self._report(key, zone, all_silent) for key, zone in sorted(self._zones.items())]

    def _set_rate(self, zone: Zone, turns: Turns, now: float) -> list[str]:
        was, rate = turns.rate, self._policy.rate_in(zone, all_silent=bool(self.all_silent))
        # When a zone recovers, its nodes return one after the other; those that are a moment later must not be evicted.
        if rate > was == 0.0 and self._policy.state(zone.ready, zone.not_ready) is not ZoneState.FULL:
            turns.empty_if_full(now)
        return turns.set_rate(rate, now)

    def _report(self, key: str, zone: Zone, all_silent: bool) -> ZoneReport:
        state, turns = self._policy.state(zone.ready, zone.not_ready), self._turns.get(key)
        waiting, given = (len(turns.waiting), turns.given) if turns is not None else (0, 0)
        rate = self._policy.rate_in(zone, all_silent=all_silent)
        return ZoneReport(key, state, zone.ready, zone.not_ready, rate, waiting, given)
