# SPDX-License-Identifier: Apache-2.0
"""The bounds of a ring's liveness: how long a slot may have no owner, with the publisher alive and with it dead too."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import attrs

from controller_runtime.ring.slots import ALL, count
from kit.fault_runs.invariants import Violated
from kit.fault_runs.ring_program import CONFIG, LISTED, SLOWEST

MESSAGES = 24
"""The messages for which a slot waits, each request and each answer: four of the turn that sees the last renewal of its
owner, eight of that which publishes, six of the taker's turn in hand, and six of the one that takes."""


@attrs.frozen
class Bounds:
    """When each slot must have an owner, in virtual seconds. A slot without one breaks all that apply to it.

    Attributes:
        owned: With the publisher alive: from when the server and a successor could talk, and no other member was lost
            any more.
        elected: The time that it may take in addition if the publisher is lost too, while slots have no owner.
        given: From the last change of the members that may own slots: each is given its share as soon as it may.
        handed_over: From the last instant at which the slot had an owner: two members may hand it over.
        joined: The time that it may take in addition while no slot has an owner: members that are joining are waited
            for. From the first that has one, the others may take as long as `given`.
    """

    owned: float
    elected: float
    given: float
    handed_over: float
    joined: float


def bounds(*, divided: bool, drift: int, latency: float) -> Bounds:
    """Return when each slot must have an owner, by the slowest clock.

    After a loss that is a lease and two retry periods; if the publisher is lost too, a lease and a retry period more,
    after which another one publishes; after a member may own slots, two retry periods; a hand-over takes as long and
    the work in hand; while no slot has an owner, members that join are waited for, for a retry period. With divided
    caches each takes the list of the slots, too. A message takes half as long again at most as the latency, and a slot
    waits for `MESSAGES` of them.
    """
    turns, slowest = MESSAGES * 1.5 * latency, 1 / (1 - drift / 1e6)
    two = 2 * CONFIG.retry_period
    filled = two + (LISTED if divided else 0.0)
    return Bounds(
        owned=(CONFIG.lease_duration + filled) * slowest + turns,
        elected=(CONFIG.lease_duration + CONFIG.retry_period) * slowest + turns / 2,
        given=filled * slowest + turns,
        handed_over=(SLOWEST + filled) * slowest + turns,
        joined=CONFIG.retry_period * slowest,
    )


class Liveness:
    """Checks at each look how long slots have had no owner.

    The time counts from the last loss: from then on, leases may have to run out. That a member comes back starts
    nothing over as long as another one is there that may own slots. The publisher is the first by name of those.

    Args:
        bounds: When slots must be held.

    Attributes:
        slowest: Seconds by which the bounds were nearly reached, negative: how much time was left at least.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.slowest = -1000.0
        self._bounds = bounds
        self._up: AbstractSet[str] = frozenset()
        self._quiet_since = self._ready_since = 0.0
        self._publisher_lost_at: float | None = None
        self._held, self._none_held_at = 0, 0.0
        self._lost = [(0.0, ALL)]  # slots without an owner, and since when

    def disturbed(self, until: float) -> None:
        """Note that something happened that may have effects until a time."""
        self._quiet_since, self._publisher_lost_at = max(self._quiet_since, until), None

    def ready_changed(self, now: float) -> None:
        """Note that a member may own slots from now on, or may own none any more."""
        self._ready_since = now

    def look(self, now: float, up: AbstractSet[str], ready: AbstractSet[str], held: int) -> None:
        """Raise `Violated` if a slot has had no owner for too long.

        Args:
            now: Virtual seconds.
            up: The members that run, have joined and can talk to a server.
            ready: The members that may own slots, as the server has stored it.
            held: The slots that have an owner.
        """
        if up != self._up or not up:
            self._changed(now, up, ready)
        if held != self._held or self._lost:
            self._lost = [(since, slots & ~held) for since, slots in self._lost if slots & ~held]
            if gone := self._held & ~held:
                self._lost.append((now, gone))
            self._held = held
            self._none_held_at = self._none_held_at if held else now
            for since, slots in self._lost:
                self._check(now, since, slots)

    def _changed(self, now: float, up: AbstractSet[str], ready: AbstractSet[str]) -> None:
        before, self._up = self._up, up
        able = before & ready
        is_publisher = bool(able) and before - up == {min(able)}
        recovers = self._lost and now <= self._quiet_since + self._bounds.owned
        if is_publisher and recovers and self._publisher_lost_at is None:
            self._publisher_lost_at = now
        elif before - up or not able & up:
            self.disturbed(now)

    def _check(self, now: float, since: float, slots: int) -> None:
        bounds, lost_at = self._bounds, self._publisher_lost_at
        counted = max(self._quiet_since, lost_at or 0.0)
        late = now - counted - bounds.owned
        if lost_at is not None and since < lost_at:
            late = max(late, now - self._quiet_since - bounds.owned - bounds.elected)
        late = min(late, now - self._ready_since - bounds.given)
        late = min(late, now - self._none_held_at - bounds.given) if self._held else late - bounds.joined
        late = min(late, now - since - bounds.handed_over)
        self.slowest = max(self.slowest, late)
        if late > 0.0:
            gap, quiet = now - since, now - counted
            what = f"{count(slots)} slots have had none for {gap:.1f} s, {quiet:.1f} s after the last event"
            raise Violated("each slot has an owner in time", what)
