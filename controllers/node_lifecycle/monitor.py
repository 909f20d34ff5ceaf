# SPDX-License-Identifier: Apache-2.0
"""What is known of all nodes together: their signs of life, their zones, and whose turn it is.

It hears of every change of a node or of a node's lease, in order, and decides with the pure
functions of `health` and `zones`. It writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import attrs

from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import Cached, ObjectKey
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.store import Delta
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.errors import DecodeError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controllers.node_lifecycle.health import Graces, Health, first_seen, lease_seen, status_seen
from controllers.node_lifecycle.taints import Eviction, eviction
from controllers.node_lifecycle.turns import Turns
from controllers.node_lifecycle.views import EXCLUDED, LeaseView, NodeView
from controllers.node_lifecycle.zones import Zone, ZonePolicy, ZoneReport, Zones

log = get_logger(__name__)

FORESIGHT = 0.2
"""The part of its grace that a node may yet have left and is counted as silent all the same, when its zone is
asked whether to evict: nodes that were cut off together fall silent one after the other."""


@attrs.define
class _Node:
    """What is known of one node; `version` is the latest that told of its status."""

    health: Health
    version: str
    zone: str
    counts: bool
    is_ready: bool


class Monitor:
    """Follows nodes and leases, and answers for their health and for the pace of evictions.

    The initial lists are taken in before anything is judged, so that a restart sees the
    zones as they are. A node that is new to it is given its whole grace.

    Threads: `node_changed` and `lease_changed` from one at a time each; the rest from any.

    Attributes:
        next_in_line: Pushes the nodes that should ask for their turn again, because another one left its zone's line
            or has had its turn. Its controller receives it.
    """

    def __init__(self, host: Host, graces: Graces, policy: ZonePolicy) -> None:
        self._host = host
        self._graces = graces
        self._read_node = decoder_for(NodeView, NODES)
        self._read_lease = decoder_for(LeaseView, LEASES)
        self.next_in_line = Channel(host)
        # Guards everything below.
        self._lock = host.lock("node monitor")
        self._nodes: dict[str, _Node] = {}
        self._renewed: dict[str, datetime] = {}  # by the name of the lease, whether there is such a node or not
        self._zones = Zones(policy)

    @property
    def all_silent(self) -> bool:
        """Whether no node that counts is ready."""
        with self._lock:
            return bool(self._zones.all_silent)

    def node_changed(self, delta: Delta) -> Iterable[Request]:
        """Take a change of a node into account; whom else it concerns, beside the node itself."""
        name, node = delta.key.name, self._readable(delta.new)
        # What appears while we listen has just been made, whatever the clock of the server says.
        age = self._age(node) if node is not None and delta.initial else 0.0
        with self._lock:
            now, before = self._host.monotonic(), self._zones.all_silent
            told = self._forget(name, now) if node is None else self._remember(node, now, age)
            told += [] if delta.initial else self._judge(now)
            after = self._zones.all_silent
        if before is not None and after is not before:
            log.warning("no node is ready, so nobody is evicted" if after else "some nodes are ready again")
        return dict.fromkeys(map(ObjectKey, told))

    def lease_changed(self, delta: Delta) -> Iterable[Request]:
        """Take a renewal into account. It concerns nobody: whoever waits for silence looks again by himself."""
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

    def health(self, node: NodeView) -> Health | None:
        """What is known of a node that was just read; None if it has not been heard of yet, or not any more."""
        with self._lock:
            known = self._nodes.get(node.name)
            if known is None or known.health.uid != node.metadata.uid:
                return None
            self._see_status(known, node, self._host.monotonic())
            return known.health

    def renewed(self, name: str, renewed: datetime | None) -> Health | None:
        """What is known of a node whose lease was just read from the server."""
        with self._lock:
            known = self._nodes.get(name)
            if known is None:
                return None
            known.health = lease_seen(known.health, renewed, self._host.monotonic())
            return known.health

    def is_not_ready(self, name: str) -> bool:
        """Whether the node has a Ready condition that does not say True."""
        with self._lock:
            known = self._nodes.get(name)
            return known is not None and known.health.ready is not None and not known.is_ready

    def turn(self, name: str, patience: float) -> float | None:
        """Ask for the node's turn to be evicted.

        Returns:
            Zero: now, and until its taint is seen or not wanted any more. Otherwise in how many
            seconds to ask again: after `patience`, if others are about to fall silent too.
            None: the node will be told.
        """
        told: list[str] = []
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
                told = turns.take(name, now)
        self._tell(told)
        return wait

    def pass_turn(self, name: str) -> None:
        """Leave the line because the node must not be evicted now; the next one may have its turn."""
        self._in_line(name, lambda turns, now: turns.give_back(name, now))

    def step_aside(self, name: str) -> None:
        """Let the others in the line pass, because a look at the node failed."""
        self._in_line(name, lambda turns, now: turns.step_aside(name))

    def leave_line(self, name: str) -> None:
        """Leave the line because the node needs no turn."""
        self._in_line(name, lambda turns, now: turns.leave(name))

    def reports(self) -> list[ZoneReport]:
        """Each zone that counts a node, by name."""
        with self._lock:
            return self._zones.reports()

    def _in_line(self, name: str, act: Callable[[Turns, float], list[str]]) -> None:
        with self._lock:
            known, now = self._nodes.get(name), self._host.monotonic()
            told = act(self._zones.turns(known.zone, now), now) if known is not None else []
        self._tell(told)

    def _tell(self, names: Iterable[str]) -> None:
        for name in names:
            self.next_in_line.push(ObjectKey(name), cause="next in line")

    def _readable(self, node: Cached | None) -> NodeView | None:
        try:
            return None if node is None else self._read_node(node.raw)
        except DecodeError as error:
            log.warning("node left alone: it cannot be read", node=node.name if node else "", error=error)
            return None

    def _age(self, node: NodeView) -> float:
        created = node.metadata.creation_timestamp
        return 0.0 if created is None else (self._host.now() - created).total_seconds()

    def _remember(self, node: NodeView, now: float, age: float) -> list[str]:
        """Take in a node as it is; the nodes to tell because of it."""
        name, known, renewed = node.name, self._nodes.get(node.name), self._renewed.get(node.name)
        told = []
        if known is None or known.health.uid != node.metadata.uid:
            told += self._forget(name, now)
            health = first_seen(node, renewed, now, age)
            known = self._nodes[name] = _Node(health, node.metadata.resource_version, "", False, False)
        else:
            self._see_status(known, node, now)
            self._count(known, -1)
        if known.zone != node.zone or eviction(node, all_silent=False) is not Eviction.ASK:
            told += self._zones.turns(known.zone, now).leave(name)
        ready = node.ready
        known.zone, known.counts = node.zone, EXCLUDED not in node.labels
        known.is_ready = ready is not None and ready.status == "True"
        self._count(known, 1)
        return told

    def _see_status(self, known: _Node, node: NodeView, now: float) -> None:
        """A reconcile may read a node before we are told of it, and then we are told of what it was before."""
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
        """Let every zone go on at the rate of its state; the nodes to tell."""
        before = self._zones.all_silent
        told = self._zones.judge(now)
        if before is None or before is self._zones.all_silent:
            return told
        for known in self._nodes.values():
            if before:  # our watch may have been broken rather than the nodes: restart their grace periods
                known.health = attrs.evolve(known.health, since=now)
        return [name for name, known in self._nodes.items() if not known.is_ready]

    def _foresees_disruption(self, key: str, now: float) -> bool:
        """Whether nobody could be evicted in the zone, if the nodes that have been silent for long remain so."""
        zones: dict[str, Zone] = {}
        for known in self._nodes.values():
            if known.counts:
                health = known.health
                is_heard = health.deadline(self._graces) - now >= FORESIGHT * health.grace(self._graces)
                zones.setdefault(known.zone, Zone()).count(known.is_ready and is_heard)
        return not self._zones.would_evict(key, zones)
