# SPDX-License-Identifier: Apache-2.0
"""Pure functions that decide whether a node is alive, by its signs of life and when we noticed them.

A sign of life is a change: another heartbeat time in the node's status, or a later renewal of its lease. The node's
timestamps are compared with each other and never with our clock, so a node whose clock is an hour off is judged like
any other.
"""

from __future__ import annotations

import math
from datetime import datetime

import attrs

from controllers.node_lifecycle.views import NEVER_UPDATED, STOPPED_POSTING, MonitoredNodeView, NodeCondition, condition

KINDS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions of a silent node that become Unknown. NetworkUnavailable is not ours: network plugins write it."""

_MESSAGES = {
    NEVER_UPDATED: "Kubelet never posted node status.",
    STOPPED_POSTING: "Kubelet stopped posting node status.",
}


@attrs.frozen
class Graces:
    """How long a node may be silent, in seconds; the defaults are upstream's.

    Attributes:
        monitor: The grace period of a node with a Ready condition.
        startup: The grace period of a node without a Ready condition.

    Raises:
        ValueError: A grace period is not positive.
    """

    monitor: float = 50.0
    startup: float = 60.0

    def __attrs_post_init__(self) -> None:
        if not (0 < self.monitor < math.inf and 0 < self.startup < math.inf):
            raise ValueError(f"the grace periods ({self.monitor:g} s, {self.startup:g} s) must be positive")


@attrs.frozen
class Health:
    """The signs of life of one node.

    Attributes:
        uid: The uid of the node, since a new node of the same name starts again.
        ready: The last seen Ready condition; None if it has none.
        silent_since: The time from which its silence is measured, in monotonic seconds: the last sign of life, its
            creation if it never gave one, or the end of a period in which no node was ready.
        last_sign: The time of its last sign of life in monotonic seconds; at first, when it was first seen.
        renewed: The latest renewal time of its lease that counted as a sign of life; None if there is none.
    """

    uid: str
    ready: NodeCondition | None
    silent_since: float
    last_sign: float
    renewed: datetime | None

    def grace(self, graces: Graces) -> float:
        """Return the grace period of the node in seconds."""
        return graces.startup if self.ready is None else graces.monitor

    def deadline(self, graces: Graces) -> float:
        """Return the time after which the node counts as silent, in monotonic seconds."""
        return self.silent_since + self.grace(graces)

    def is_silent(self, graces: Graces, now: float) -> bool:
        """Return whether the node has been silent for longer than its grace period."""
        return now > self.deadline(graces)


def first_seen(node: MonitoredNodeView, renewed: datetime | None, now: float, age: float) -> Health:
    """Return the health of a node that is seen for the first time.

    A node with any sign of life, however old, gets its whole grace period, because its clock is not trusted. For other
    nodes the grace period starts at their creation.

    Args:
        node: The current node.
        renewed: The renewal time of its lease, if there is one.
        now: The time in monotonic seconds.
        age: Seconds since the node was created.
    """
    is_fresh = node.ready is not None or renewed is not None
    return Health(node.metadata.uid, node.ready, now if is_fresh else now - max(age, 0.0), now, renewed)


def status_seen(health: Health, node: MonitoredNodeView, renewed: datetime | None, now: float) -> Health:
    """Return the health of a node after its current status was seen.

    A heartbeat in the status is a sign of life. After it the next renewal of the lease must be later than the current
    one, `renewed`, rather than the latest: so renewals of a node whose clock was set back count again.

    Args:
        health: The health so far.
        node: The current node.
        renewed: The renewal time of its lease, if there is one.
        now: The time in monotonic seconds.
    """
    before, ready = health.ready, node.ready
    if ready == before:
        return health
    if ready is None or ready.is_ours:  # a missing condition, or one that we wrote, is no sign of life
        return attrs.evolve(health, ready=ready)
    if before is not None and before.last_heartbeat_time == ready.last_heartbeat_time:
        return attrs.evolve(health, ready=ready)
    return Health(health.uid, ready, now, now, renewed)


def lease_seen(health: Health, renewed: datetime | None, now: float) -> Health:
    """Return the health of a node after its lease was seen with the renewal time `renewed`."""
    if renewed is None or (health.renewed is not None and renewed <= health.renewed):
        return health
    return attrs.evolve(health, silent_since=now, last_sign=now, renewed=renewed)


def unknown_conditions(node: MonitoredNodeView, now: str) -> list[dict[str, str]]:
    """Return the conditions to patch into a silent node's status; empty if its Ready condition is Unknown already.

    Args:
        node: The current node.
        now: The current time in the API's format.
    """
    ready = node.ready
    if ready is not None and ready.status == "Unknown":
        return []
    return [made for kind in KINDS if (made := _unknown(node, kind, now)) is not None]


def _unknown(node: MonitoredNodeView, kind: str, now: str) -> dict[str, str] | None:
    found = condition(node.conditions, kind)
    if found is not None and found.status == "Unknown":
        return None
    reason = NEVER_UPDATED if found is None else STOPPED_POSTING
    made = {"type": kind, "status": "Unknown", "reason": reason, "message": _MESSAGES[reason]}
    if found is None and node.metadata.creation_timestamp is not None:
        made["lastHeartbeatTime"] = node.metadata.creation_timestamp.isoformat().replace("+00:00", "Z")
    return {**made, "lastTransitionTime": now}
