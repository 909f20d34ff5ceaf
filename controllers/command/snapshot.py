# SPDX-License-Identifier: Apache-2.0
"""The state that a view shows: controllers, nodes, pods, leases and their holders, and the last events.

All of it is updated with each change, so that taking a snapshot scans nothing. Nodes and
pods are counted in `snapshot_counters`.
"""

from __future__ import annotations

import collections

import attrs
import msgspec

from controller_runtime.api.objects import Cached, ObjectKey
from controller_runtime.api.resources import EVENTS, LEASES, NODES, PODS
from controller_runtime.cache.store import Delta
from controller_runtime.controller.controller import Controller
from controller_runtime.core.errors import UNREADABLE
from controller_runtime.core.host import Host
from controller_runtime.manager.manager import Manager
from controllers.command.snapshot_counters import NodeCounter, NodeCounts, PodCounter, PodCounts

NODE_LEASES = "kube-node-lease"
IDENTITY_LABEL = "apiserver.kubernetes.io/identity"
EVENTS_KEPT = 4
"""The number of events that a view shows below its table."""


class _LeaseSpec(msgspec.Struct, gc=False, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class _LeaseMeta(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _Lease(msgspec.Struct, gc=False):
    metadata: _LeaseMeta
    spec: _LeaseSpec | None = None

    @property
    def is_leadership(self) -> bool:
        """True for a lease of an election; an API server's identity lease says only that the server is alive."""
        return IDENTITY_LABEL not in (self.metadata.labels or {})


_lease = msgspec.json.Decoder(_Lease)
_NO_LEASE = _Lease(_LeaseMeta())


class _Regarding(msgspec.Struct, gc=False):
    kind: str = ""
    name: str = ""


class _EventView(msgspec.Struct, gc=False):
    type: str = ""
    reason: str = ""
    note: str = ""
    regarding: _Regarding = msgspec.field(default_factory=_Regarding)


_event = msgspec.json.Decoder(_EventView)


@attrs.frozen
class LeaseSummary:
    """The leases at one instant.

    Attributes:
        nodes: The number of node leases.
        silent: The number of node leases that have expired: no renewal was seen for longer than their duration.
        oldest: Seconds since the last renewal of the node lease that was not renewed for longest.
        leaders: The holders of the leases of elections, by the lease's name.
    """

    nodes: int = 0
    silent: int = 0
    oldest: float = 0.0
    leaders: dict[str, str] = attrs.field(factory=dict)


class LeaseTracker:
    """Remembers when each node lease was last seen to be renewed, and who holds the other leases.

    Times are those of this host's monotonic clock, because `renewTime` comes from clocks that may differ from ours.

    Threads: `observe` from one at a time; `summary` from any.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the two dicts below, because `summary` runs on other threads than `observe`.
        self._lock = host.lock("lease tracker")
        self._nodes: dict[ObjectKey, tuple[float, float]] = {}  # when it was renewed, and its duration in seconds
        self._leaders: dict[ObjectKey, str] = {}

    def observe(self, delta: Delta) -> None:
        """Take one change into account; a lease that does not decode counts as not held."""
        lease, before = _read(delta.new), _read(delta.old).spec or _LeaseSpec()
        spec = lease.spec or _LeaseSpec()
        now = self._host.monotonic()
        with self._lock:
            if delta.key.namespace != NODE_LEASES:
                if spec.holder_identity and lease.is_leadership:
                    self._leaders[delta.key] = spec.holder_identity
                else:
                    self._leaders.pop(delta.key, None)
            elif delta.new is None:
                self._nodes.pop(delta.key, None)
            elif spec.renew_time != before.renew_time or delta.key not in self._nodes:
                self._nodes[delta.key] = (now, float(spec.lease_duration_seconds or 0))

    def summary(self) -> LeaseSummary:
        """Return the present state of the leases."""
        now = self._host.monotonic()
        with self._lock:
            ages = [(now - seen, duration) for seen, duration in self._nodes.values()]
            leaders = {key.name: holder for key, holder in self._leaders.items()}
        silent = sum(age > duration for age, duration in ages)
        return LeaseSummary(len(ages), silent, max((age for age, _ in ages), default=0.0), leaders)


def _read(lease: Cached | None) -> _Lease:
    try:
        return _NO_LEASE if lease is None else _lease.decode(lease.raw)
    except UNREADABLE:
        return _NO_LEASE


class EventTail:
    """The last few events, as lines of text.

    Threads: `observe` from one at a time; `lines` from any. There is no lock, because appending to
        a deque and copying it are atomic.
    """

    def __init__(self, size: int = EVENTS_KEPT) -> None:
        self._lines: collections.deque[str] = collections.deque(maxlen=size)

    def observe(self, delta: Delta) -> None:
        """Keep an event that was created or updated; those of the initial list happened before the start."""
        if delta.new is None or delta.initial:
            return
        try:
            event = _event.decode(delta.new.raw)
        except UNREADABLE:
            return
        about = f"{event.regarding.kind.lower()}/{event.regarding.name}"
        self._lines.append(f"{event.type} {event.reason} {about}: {event.note}")

    def lines(self) -> list[str]:
        """Return the lines that are kept, oldest first."""
        return list(self._lines)


@attrs.frozen
class ControllerStatus:
    """One controller at one instant.

    Attributes:
        name: The controller's name.
        reconciles: The number of reconciles that have ended since the start.
        errors: The number of those that failed.
        queued: The number of requests that wait in the queue.
    """

    name: str
    reconciles: int
    errors: int
    queued: int


@attrs.frozen
class Snapshot:
    """Everything that a view shows, at one instant.

    Attributes:
        taken_at: Monotonic seconds of the host.
        controllers: The controllers of the manager.
        nodes: The nodes; None where the cluster is not watched.
        leases: The leases; None where the cluster is not watched.
        events: The last events as lines, oldest first.
        pods: The pods; all counts are zero where the cluster is not watched.
    """

    taken_at: float
    controllers: tuple[ControllerStatus, ...] = ()
    nodes: NodeCounts | None = None
    leases: LeaseSummary | None = None
    events: tuple[str, ...] = ()
    pods: PodCounts = attrs.field(factory=PodCounts)


class SnapshotSource:
    """Takes snapshots of a manager's controllers and, if asked to, of its cluster.

    Args:
        manager: Has the informers, if the cluster is watched.
        controllers: The controllers that the snapshots describe.
        cluster: Watch nodes, pods, leases and events too. Only for the embedded server: on
            other clusters the credentials of one controller may not allow it to list these.

    Threads: `take` from any.
    """

    def __init__(self, manager: Manager, controllers: list[Controller], *, cluster: bool) -> None:
        self._host = manager.host
        self._controllers = controllers
        self._cluster = cluster
        self._nodes, self._pods = NodeCounter(manager.host), PodCounter(manager.host)
        self._leases, self._events = LeaseTracker(manager.host), EventTail()
        if cluster:
            manager.informer(NODES).subscribe(self._nodes.observe, name="nodes")
            manager.informer(PODS).subscribe(self._pods.observe, name="pods")
            manager.informer(LEASES).subscribe(self._leases.observe, name="leases")
            manager.informer(EVENTS).subscribe(self._events.observe, name="events")

    def take(self) -> Snapshot:
        """Return the present state."""
        now = self._host.monotonic()
        status = tuple(ControllerStatus(c.name, c.reconciles, c.errors, c.queued) for c in self._controllers)
        if not self._cluster:
            return Snapshot(now, status)
        events = tuple(self._events.lines())
        return Snapshot(now, status, self._nodes.count(), self._leases.summary(), events, self._pods.count())
