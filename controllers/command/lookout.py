# SPDX-License-Identifier: Apache-2.0
"""What the live view looks at: leases by their freshness, who leads, and the last events.

Kept up change by change, as the census of nodes is, so that a look costs next to nothing.
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
from controllers.command.census import Census, Count, PodCensus, PodCount

NODE_LEASES = "kube-node-lease"
IDENTITY_LABEL = "apiserver.kubernetes.io/identity"
EVENTS_KEPT = 4


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
    def leads(self) -> bool:
        """Whether its holder leads something; an API server's own lease says only that it lives."""
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
class Leases:
    """The leases at one instant.

    Attributes:
        nodes: Leases of nodes.
        silent: Those of them that were last renewed longer ago than they last, as seen from here.
        oldest: Seconds since the least recent renewal that was seen of a node's lease.
        leaders: Holder by name, of all other leases that are held.
    """

    nodes: int = 0
    silent: int = 0
    oldest: float = 0.0
    leaders: dict[str, str] = attrs.field(factory=dict)


class LeaseWatch:
    """Remembers when each lease was last seen to be renewed, on this host's monotonic clock.

    Threads: `observe` from one at a time; `leases` from any.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the two dicts below: when a node's lease was renewed and how long it lasts; holders of the others.
        self._lock = host.lock("lease watch")
        self._nodes: dict[ObjectKey, tuple[float, float]] = {}
        self._leaders: dict[ObjectKey, str] = {}

    def observe(self, delta: Delta) -> None:
        """Take one change into account; a lease that cannot be read counts as not held."""
        lease, before = _read(delta.new), _read(delta.old).spec or _LeaseSpec()
        spec = lease.spec or _LeaseSpec()
        now = self._host.monotonic()
        with self._lock:
            if delta.key.namespace != NODE_LEASES:
                if spec.holder_identity and lease.leads:
                    self._leaders[delta.key] = spec.holder_identity
                else:
                    self._leaders.pop(delta.key, None)
            elif delta.new is None:
                self._nodes.pop(delta.key, None)
            elif spec.renew_time != before.renew_time or delta.key not in self._nodes:
                self._nodes[delta.key] = (now, float(spec.lease_duration_seconds or 0))

    def leases(self) -> Leases:
        """The leases now."""
        now = self._host.monotonic()
        with self._lock:
            ages = [(now - seen, lasts) for seen, lasts in self._nodes.values()]
            leaders = {request.name: holder for request, holder in self._leaders.items()}
        silent = sum(age > lasts for age, lasts in ages)
        return Leases(len(ages), silent, max((age for age, _ in ages), default=0.0), leaders)


def _read(lease: Cached | None) -> _Lease:
    try:
        return _NO_LEASE if lease is None else _lease.decode(lease.raw)
    except UNREADABLE:
        return _NO_LEASE


class EventTail:
    """The last few events, as lines.

    Threads: `observe` from one at a time; `lines` from any (a deque is appended to and copied whole).
    """

    def __init__(self, size: int = EVENTS_KEPT) -> None:
        self._lines: collections.deque[str] = collections.deque(maxlen=size)

    def observe(self, delta: Delta) -> None:
        """Keep a new event, or a new turn of an old one; not those from before the start."""
        if delta.new is None or delta.initial:
            return
        try:
            event = _event.decode(delta.new.raw)
        except UNREADABLE:
            return
        about = f"{event.regarding.kind.lower()}/{event.regarding.name}"
        self._lines.append(f"{event.type} {event.reason} {about}: {event.note}")

    def lines(self) -> list[str]:
        """The lines kept, oldest first."""
        return list(self._lines)


@attrs.frozen
class ControllerStatus:
    """One controller at one instant.

    Attributes:
        reconciles: How many have ended, since the start.
        errors: How many of them failed.
        queued: Requests that wait to be handed out.
    """

    name: str
    reconciles: int
    errors: int
    queued: int


@attrs.frozen
class Snapshot:
    """All that the view shows, at one instant of the host's monotonic clock."""

    taken_at: float
    controllers: tuple[ControllerStatus, ...] = ()
    nodes: Count | None = None
    leases: Leases | None = None
    events: tuple[str, ...] = ()
    pods: PodCount = attrs.field(factory=PodCount)


class Lookout:
    """Looks at a manager's controllers and, on the embedded server, at its cluster.

    On any other cluster it asks for nothing that the controllers do not: whoever runs
    one controller need not have the right to list nodes, leases and events.

    Threads: `look` from any.
    """

    def __init__(self, manager: Manager, controllers: list[Controller], *, cluster: bool) -> None:
        self._host = manager.host
        self._controllers = controllers
        self._cluster = cluster
        self._census, self._leases, self._events = Census(manager.host), LeaseWatch(manager.host), EventTail()
        self._pods = PodCensus(manager.host)
        if cluster:
            manager.informer(NODES).subscribe(self._census.observe, name="census")
            manager.informer(PODS).subscribe(self._pods.observe, name="pods")
            manager.informer(LEASES).subscribe(self._leases.observe, name="leases")
            manager.informer(EVENTS).subscribe(self._events.observe, name="events")

    def look(self) -> Snapshot:
        """The present state."""
        now = self._host.monotonic()
        status = tuple(ControllerStatus(c.name, c.reconciles, c.errors, c.queued) for c in self._controllers)
        if not self._cluster:
            return Snapshot(now, status)
        count, leases, events = self._census.count(), self._leases.leases(), tuple(self._events.lines())
        return Snapshot(now, status, count, leases, events, self._pods.count())
