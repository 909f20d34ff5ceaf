# SPDX-License-Identifier: Apache-2.0
"""One hollow node and the state of its kubelet; `HollowNodes` runs thousands of them."""

from __future__ import annotations

import enum

import attrs

from apimachinery.objects import ObjectKey
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat
from controllers.hollow.node import node_name


class KubeletState(enum.Enum):
    """The state of a hollow node's kubelet."""

    RUNNING = "running"
    PAUSED = "paused"
    """Frozen: revived, it goes on with the lease that it knows."""
    KILLED = "killed"
    """Ended: revived, it starts with its registration."""


@attrs.define
class HollowNode:
    """One hollow node, with the state of its simulated kubelet.

    `state` and `heartbeat` change under the lock of `HollowNodes`; the other fields are changed by the worker that
    processes the node's key. The exception is `revive`, which resets `registered` under the lock. If a worker sets it
    at the same moment, its registration counts for the revived node.

    Attributes:
        index: Index of the node, counted from zero.
        heartbeat: The heartbeat of its lease.
        state: Whether its kubelet runs.
        registered: Whether its kubelet has registered the Node.
        has_tried_to_register: Whether the first try to register has ended, successfully or not.
        renewal_due: When its lease must be renewed, in monotonic seconds; None while its kubelet does not run.
        failures: Number of consecutive failures of its registration or its posts.
        is_deleted: Whether another client has deleted the Node. Like a real one, its kubelet then continues without
            success, and its failures are no longer logged.
    """

    index: int
    heartbeat: LeaseHeartbeat
    state: KubeletState = KubeletState.RUNNING
    registered: bool = False
    has_tried_to_register: bool = False
    renewal_due: float | None = None
    failures: int = 0
    is_deleted: bool = False

    @property
    def key(self) -> ObjectKey:
        """The key of the Node."""
        return ObjectKey(node_name(self.index))
