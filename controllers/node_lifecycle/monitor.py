# SPDX-License-Identifier: Apache-2.0
"""The state of all nodes: their signs of life, and through `zones` the pace at which they are evicted.

The monitor follows each change of a node or of a node's lease, in order. It decides with the pure functions of
`health` and `taints`, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import attrs

from apimachinery.errors import DecodeError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.store import Delta
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.reconciler import Request
from controllers.node_lifecycle.health import Graces, Health, first_seen, lease_seen, status_seen
from controllers.node_lifecycle.taints import Eviction, eviction
from controllers.node_lifecycle.turns import Turns
from controllers.node_lifecycle.views import EXCLUDED, MonitoredNodeView, NodeLeaseView
from controllers.node_lifecycle.zones import ZonePolicy, ZoneReport, Zones

log = get_logger(__name__)

FORESIGHT = 0.2
"""Before a node is evicted, nodes with less than this share of their grace period left count as silent. Nodes that
were cut off together fall silent one after the other, and the first must not be evicted before the outage is seen.
A fifth of the default 50 s is a renewal interval of 10 s."""


@attrs.define
class _Node:
    """The state of one node.

    Attributes:
        health: Its signs of life.
        version: The newest version of the node whose status is part of `health`.
        zone: The key of its zone.
        counts: Whether it counts for its zone.
        is_ready: Whether its Ready condition is True.
    """

    health: Health
    version: str
    zone: str
    counts: bool
    is_ready: bool


class Monitor:
    """Follows nodes and leases; keeps the health of each node and decides which nodes may be evicted now.

    No zone is judged before the initial list of nodes is complete, so that a restart does not act on a part of a zone.

    Args:
        host: The source of the time; its monotonic clock measures silence.
        graces: How long nodes may be silent.
        policy: When zones count as disrupted, and how fast their nodes are evicted.

    Threads: `node_changed` and `lease_changed` from one at a time each; the rest from any.

    Attributes:
        next_in_queue: The channel by which nodes are reconciled again, because the queue of their zone has advanced.
    """

    def __init__(self, host: Host, graces: Graces, policy: ZonePolicy) -> None:
        self._host = host
        self._graces = graces
        self._read_node = decoder_for(MonitoredNodeView, NODES)
        self._read_lease = decoder_for(NodeLeaseView, LEASES)
        self.next_in_queue = Channel(host)
        # Guards everything below; each node's verdict depends on all nodes of its zone.
        self._lock = host.lock("node monitor")
        self._nodes: dict[str, _Node] = {}
        self._renewed: dict[str, datetime] = {}  # by name; a lease may be seen before its node
        self._zones = Zones(policy)

    @property
    def all_silent(self) -> bool:
        """Whether no node is ready, apart from those with the label `EXCLUDED`, which do not count."""
        with self._lock:
            return bool(self._zones.all_silent)

    def node_changed(self, delta: Delta) -> Iterable[Request]:
        """Record a change of a node, and return the other nodes that must be reconciled because of it."""
        name, node = delta.key.name, self._readable(delta.new)
        # A node that appears after the initial list has just been created, even if the server's clock says otherwise.
        age = self._age(node) if node is not None and delta.initial else 0.0
        with self._lock:
            now, before = self._host.monotonic(), self._zones.all_silent
            woken = self._forget(name, now) if node is None else self._remember(node, now, age)
            woken += [] if delta.initial else self._judge(now)
            after = self._zones.all_silent
        if before is not None and after is not before:
            log.warning("no node is ready, so no node is evicted" if after else "some nodes are ready again")
        return dict.fromkeys(map(ObjectKey, woken))

    def lease_changed(self, delta: Delta) -> Iterable[Request]:
        """Record a renewal. It requests no reconcile: a node's next reconcile is due at the end of its grace period."""
        name = delta.key.name
        try:
            renewed = self._read_lease(delta.new.raw).renew_time if delta.new is not None else None
        except DecodeError as error:
            log.warning("renewal does not count: the lease cannot be read", lease=delta.key, error=error)
            return ()
        with self._lock:
            if renewed is None:
                self._renewed.pop(name, None)
            else:
                self._renewed[name] = renewed
            known = self._nodes.get(name)
            if known is not None:
                known.health = lease_seen(known.health, renewed, self._host.monotonic())
        return ()

    def health(self, node: MonitoredNodeView) -> Health | None:
        """Return the health of a node that was just read; None if no node with its uid has been recorded yet."""
        with self._lock:
            known = self._nodes.get(node.name)
            if known is None or known.health.uid != node.metadata.uid:
                return None
            self._see_status(known, node, self._host.monotonic())
            return known.health

    def renewed(self, name: str, renewed: datetime | None) -> Health | None:
        """Record a renewal that was just read from the server, and return the node's health.

        Args:
            name: The node's name.
            renewed: The renewal time of its lease; None if there is no readable lease.

        Returns:
            The health, or None if there is no such node.
        """
        with self._lock:
            known = self._nodes.get(name)
            if known is None:
                return None
            known.health = lease_seen(known.health, renewed, self._host.monotonic())
            return known.health

    def is_not_ready(self, name: str) -> bool:
        """Return whether the node has a Ready condition that is not True."""
        with self._lock:
            known = self._nodes.get(name)
            return known is not None and known.health.ready is not None and not known.is_ready

    def turn(self, name: str, patience: float) -> float | None:
        """Ask whether the node may be evicted now; if not, put it into the queue of its zone.

        Args:
            name: The node's name.
            patience: Seconds to wait before asking again, if the zone is about to fall silent.

        Returns:
            Zero if the node may be evicted; it keeps this permission until its taint is seen or no longer needed.
            Otherwise the seconds after which to ask again, or None if `next_in_queue` requests the node at the right
            time.
        """
        woken: list[str] = []
        with self._lock:
            known = self._nodes.get(name)
            if known is None:
                return None
            now = self._host.monotonic()
            turns = self._zones.turns(known.zone, now)
            wait = turns.ask(name, now)
            if wait == 0.0 and self._foresees_disruption(known.zone, now):
                wait = patience
            elif wait == 0.0:
                woken = turns.take(name, now)
        self._wake(woken)
        return wait

    def give_back_turn(self, name: str) -> None:
        """Remove the node from the queue because it must not be evicted now, so that the next node may be."""
        self._change_queue(name, lambda turns, now: turns.give_back(name, now))

    def step_aside(self, name: str) -> None:
        """Let the other nodes in the queue go first, because a reconcile of this node failed."""
        self._change_queue(name, lambda turns, now: turns.step_aside(name))

    def leave_queue(self, name: str) -> None:
        """Remove the node from the queue of its zone: it needs no permission to be evicted, or has used it."""
        self._change_queue(name, lambda turns, now: turns.leave(name))

    def reports(self) -> list[ZoneReport]:
        """Return a report of each zone with nodes that do not have the label `EXCLUDED`, sorted by the zone's key."""
        with self._lock:
            return self._zones.reports()

    def _change_queue(self, name: str, act: Callable[[Turns, float], list[str]]) -> None:
        with self._lock:
            known, now = self._nodes.get(name), self._host.monotonic()
            woken = act(self._zones.turns(known.zone, now), now) if known is not None else []
        self._wake(woken)

    def _wake(self, names: Iterable[str]) -> None:
        for name in names:
            self.next_in_queue.push(ObjectKey(name), cause="next in queue")

    def _readable(self, node: Cached | None) -> MonitoredNodeView | None:
        try:
            return None if node is None else self._read_node(node.raw)
        except DecodeError as error:
            log.warning("node left alone: it cannot be read", node=node.name if node else "", error=error)
            return None

    def _age(self, node: MonitoredNodeView) -> float:
        created = node.metadata.creation_timestamp
        return 0.0 if created is None else (self._host.now() - created).total_seconds()

    def _remember(self, node: MonitoredNodeView, now: float, age: float) -> list[str]:
        """Store the node as it is now, and return the nodes to wake because of it."""
        name, known, renewed = node.name, self._nodes.get(node.name), self._renewed.get(node.name)
        woken = []
        if known is None or known.health.uid != node.metadata.uid:
            woken += self._forget(name, now)
            health = first_seen(node, renewed, now, age)
            known = self._nodes[name] = _Node(health, node.metadata.resource_version, "", False, False)
        else:
            self._see_status(known, node, now)
            self._count(known, -1)
        if known.zone != node.zone or eviction(node, all_silent=False) is not Eviction.ASK:
            woken += self._zones.turns(known.zone, now).leave(name)
        ready = node.ready
        known.zone, known.counts = node.zone, EXCLUDED not in node.labels
        known.is_ready = ready is not None and ready.status == "True"
        self._count(known, 1)
        return woken

    def _see_status(self, known: _Node, node: MonitoredNodeView, now: float) -> None:
        """Take the node's status into account, unless it is older than the one seen last.

        A reconcile may read a node before its change is followed here; the older versions in between come later.
        """
        if compare_versions(node.metadata.resource_version, known.version) >= 0:
            known.health = status_seen(known.health, node, self._renewed.get(node.name), now)
            known.version = node.metadata.resource_version

    def _forget(self, name: str, now: float) -> list[str]:
        known = self._nodes.pop(name, None)
        if known is None:
            return []
        self._count(known, -1)
        return self._zones.turns(known.zone, now).leave(name)

    def _count(self, known: _Node, change: int) -> None:
        if known.counts:
            self._zones.count(known.zone, known.is_ready, change)

    def _judge(self, now: float) -> list[str]:
        """Set each zone's rate of evictions by its present state, and return the nodes to wake."""
        before = self._zones.all_silent
        woken = self._zones.judge(now)
        if before is None or before is self._zones.all_silent:
            return woken
        for known in self._nodes.values():
            if before:  # our watch may have been broken rather than the nodes: restart their grace periods
                known.health = attrs.evolve(known.health, silent_since=now)
        return [name for name, known in self._nodes.items() if not known.is_ready]

    def _foresees_disruption(self, key: str, now: float) -> bool:
        """Return whether the zone would not evict if the nodes near the end of their grace period were silent."""
        nodes = ((known.zone, known.is_ready and self._was_heard(known, now)) for known in self._counted())
        return not self._zones.would_evict(key, nodes)

    def _counted(self) -> Iterable[_Node]:
        return (known for known in self._nodes.values() if known.counts)

    def _was_heard(self, known: _Node, now: float) -> bool:
        health = known.health
        return health.deadline(self._graces) - now >= FORESIGHT * health.grace(self._graces)
