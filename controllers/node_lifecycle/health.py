# SPDX-License-Identifier: Apache-2.0
"""Whether a node is alive: pure functions over its signs of life and the instants they were noticed.

A sign of life is a change: another heartbeat time in the node's status, a later renewal
of its lease. Its own times are compared among themselves and never with our clock, so a node
whose clock is an hour off is judged like any other.
"""

from __future__ import annotations

import math
from datetime import datetime

import attrs

from controllers.node_lifecycle.views import NEVER_UPDATED, STOPPED_POSTING, Condition, NodeView, condition

KINDS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""What is written Unknown of a silent node; its network is somebody else's to judge."""

_MESSAGES = {
    NEVER_UPDATED: "Kubelet never posted node status.",
    STOPPED_POSTING: "Kubelet stopped posting node status.",
}


@attrs.frozen
class Graces:
    """For how long a node may be silent, in seconds.

    Attributes:
        monitor: If it has a Ready condition.
        startup: If it has none yet.

    Raises:
        ValueError: One that is not positive.
    """

    monitor: float = 50.0
    startup: float = 60.0

    def __attrs_post_init__(self) -> None:
        if not (0 < self.monitor < math.inf and 0 < self.startup < math.inf):
            raise ValueError(f"the grace periods ({self.monitor:g} s, {self.startup:g} s) must be positive")


@attrs.frozen
class Health:
    """The signs of life of one node; instants are of our monotonic clock.

    Attributes:
        uid: Of the node: one that takes over the name begins anew.
        ready: Its Ready condition as last seen.
        since: From when its silence is reckoned: the last sign of life, or a later amnesty.
        heard: The last sign of life; at first, when we began to listen.
        renewed: The latest renewal of its lease that counted.
    """

    uid: str
    ready: Condition | None
    since: float
    heard: float
    renewed: datetime | None

    def grace(self, graces: Graces) -> float:
        """For how long it may be silent, in seconds."""
        return graces.startup if self.ready is None else graces.monitor

    def deadline(self, graces: Graces) -> float:
        """The last instant at which it is not silent."""
        return self.since + self.grace(graces)

    def is_silent(self, graces: Graces, now: float) -> bool:
        """Whether it has been silent for longer than its grace; the grace itself is not yet longer."""
        return now > self.deadline(graces)


def first_seen(node: NodeView, renewed: datetime | None, now: float, age: float) -> Health:
    """The health of a node that was not known before.

    Args:
        node: As it is.
        renewed: What its lease says, if there is one: however old, it counts once.
        now: When.
        age: For how long the node has existed, in seconds.
    """
    is_fresh = node.ready is not None or renewed is not None
    return Health(node.metadata.uid, node.ready, now if is_fresh else now - max(age, 0.0), now, renewed)


def status_seen(health: Health, node: NodeView, renewed: datetime | None, now: float) -> Health:
    """The health after the node was seen as it is.

    A heartbeat also makes whatever the lease says (`renewed`) the renewal that the next one must
    exceed, so that a lease whose time was set back counts again.
    """
    before, ready = health.ready, node.ready
    if ready == before:
        return health
    if ready is None or ready.is_ours:  # silence, and what we wrote about it, is no sign of life
        return attrs.evolve(health, ready=ready)
    if before is not None and before.last_heartbeat_time == ready.last_heartbeat_time:
        return attrs.evolve(health, ready=ready)
    return Health(health.uid, ready, now, now, renewed)


def lease_seen(health: Health, renewed: datetime | None, now: float) -> Health:
    """The health after the node's lease was seen to say `renewed`."""
    if renewed is None or (health.renewed is not None and renewed <= health.renewed):
        return health
    return attrs.evolve(health, since=now, heard=now, renewed=renewed)


def unknown_conditions(node: NodeView, now: str) -> list[dict[str, str]]:
    """What a silent node's conditions are to be, as a patch merges them; empty if Ready is Unknown already.

    Args:
        node: As it is.
        now: The time, as the API writes it.
    """
    ready = node.ready
    if ready is not None and ready.status == "Unknown":
        return []
    return [made for kind in KINDS if (made := _unknown(node, kind, now)) is not None]


def _unknown(node: NodeView, kind: str, now: str) -> dict[str, str] | None:
    found = condition(node.conditions, kind)
    if found is not None and found.status == "Unknown":
        return None
    reason = NEVER_UPDATED if found is None else STOPPED_POSTING
    made = {"type": kind, "status": "Unknown", "reason": reason, "message": _MESSAGES[reason]}
    if found is None and node.metadata.creation_timestamp is not None:
        made["lastHeartbeatTime"] = node.metadata.creation_timestamp.isoformat().replace("+00:00", "Z")
    return {**made, "lastTransitionTime": now}
