# SPDX-License-Identifier: Apache-2.0
"""The state that the panel of `controllers run` shows: nodes, pods, leases and their holders.

All of it is updated with each change, so that taking a snapshot scans nothing. Nodes and
pods are counted in `snapshot_counters`.
"""

from __future__ import annotations

from collections import deque

import attrs
import msgspec

from apimachinery.errors import UNREADABLE
from apimachinery.host import Host
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.api.resources import LEASES, NODES, PODS
from controller_runtime.cache.store import Delta
from controller_runtime.manager.manager import Manager
from controllers.command.snapshot_counters import NodeCounter, NodeCounts, PodCounter, PodCounts

NODE_LEASES = "kube-node-lease"
IDENTITY_LABEL = "apiserver.kubernetes.io/identity"

CHANGES_KEPT = 50
"""The number of changes of the holders of leases that are kept."""


class _SnapshotLeaseSpec(msgspec.Struct, gc=False, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class _LeaseMeta(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _Lease(msgspec.Struct, gc=False):
    metadata: _LeaseMeta
    spec: _SnapshotLeaseSpec | None = None

    @property
    def is_leadership(self) -> bool:
        """True for a lease of an election; an API server's identity lease says only that the server is alive."""
        return IDENTITY_LABEL not in (self.metadata.labels or {})


_lease = msgspec.json.Decoder(_Lease)
_NO_LEASE = _Lease(_LeaseMeta())


@attrs.frozen
class LeaseSummary:
    """The state of the leases at one moment.

    Attributes:
        nodes: The number of node leases.
        silent: The number of expired node leases: no renewal was seen for longer than their duration.
        oldest: Seconds since the last renewal of the node lease with the longest time without renewal.
        leaders: The holders of leader election leases, by the name of the lease.
        changes: The last changes of holders, newest first: the seconds since then, the lease, and the new holder, empty
            for none.
    """

    nodes: int = 0
    silent: int = 0
    oldest: float = 0.0
    leaders: dict[str, str] = attrs.field(factory=dict)
    changes: tuple[tuple[float, str, str], ...] = ()


class LeaseTracker:
    """Remembers when the last renewal of each node lease was seen, and the holders of the other leases.

    Times are from this host's monotonic clock, because `renewTime` comes from other clocks.

    Threads: `observe` from one at a time; `summary` from any.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the fields below, because `summary` runs on other threads than `observe`.
        self._lock = host.lock("lease tracker")
        self._nodes: dict[ObjectKey, tuple[float, float]] = {}  # when it was renewed, and its duration in seconds
        self._leaders: dict[ObjectKey, str] = {}
        self._changes: deque[tuple[float, str, str]] = deque(maxlen=CHANGES_KEPT)

    def observe(self, delta: Delta) -> None:
        """Record one change. A lease that cannot be decoded counts as without holder."""
        lease, before = _read(delta.new), _read(delta.old).spec or _SnapshotLeaseSpec()
        spec = lease.spec or _SnapshotLeaseSpec()
        now = self._host.monotonic()
        with self._lock:
            if delta.key.namespace != NODE_LEASES:
                holder = (spec.holder_identity or "") if lease.is_leadership else ""
                if holder != self._leaders.pop(delta.key, ""):
                    self._changes.append((now, delta.key.name, holder))
                if holder:
                    self._leaders[delta.key] = holder
            elif delta.new is None:
                self._nodes.pop(delta.key, None)
            elif spec.renew_time != before.renew_time or delta.key not in self._nodes:
                self._nodes[delta.key] = (now, float(spec.lease_duration_seconds or 0))

    def summary(self) -> LeaseSummary:
        """Return the current state of the leases."""
        now = self._host.monotonic()
        with self._lock:
            ages = [(now - seen, duration) for seen, duration in self._nodes.values()]
            leaders = {key.name: holder for key, holder in self._leaders.items()}
            changes = tuple((now - at, lease, holder) for at, lease, holder in reversed(self._changes))
        silent = sum(age > duration for age, duration in ages)
        return LeaseSummary(len(ages), silent, max((age for age, _ in ages), default=0.0), leaders, changes)


def _read(lease: Cached | None) -> _Lease:
    try:
        return _NO_LEASE if lease is None else _lease.decode(lease.raw)
    except UNREADABLE:
        return _NO_LEASE


@attrs.frozen
class ClusterSnapshot:
    """The nodes, leases and pods of a cluster at one moment."""

    nodes: NodeCounts
    leases: LeaseSummary = attrs.field(factory=LeaseSummary)
    pods: PodCounts = attrs.field(factory=PodCounts)


class ClusterSource:
    """Takes snapshots of a cluster, whose nodes, pods and leases it watches by a manager's caches.

    Only for the embedded server: on other clusters the program may lack the right to list these.

    Args:
        manager: The manager, whose informers are used.

    Threads: `take` from any.
    """

    def __init__(self, manager: Manager) -> None:
        self._nodes, self._pods = NodeCounter(manager.host), PodCounter(manager.host)
        self._leases = LeaseTracker(manager.host)
        manager.informer(NODES).subscribe(self._nodes.observe, name="nodes")
        manager.informer(PODS).subscribe(self._pods.observe, name="pods")
        manager.informer(LEASES).subscribe(self._leases.observe, name="leases")

    def take(self) -> ClusterSnapshot:
        """Return a snapshot of the current state."""
        return ClusterSnapshot(self._nodes.count(), self._leases.summary(), self._pods.count())
