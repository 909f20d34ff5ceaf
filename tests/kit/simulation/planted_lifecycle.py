# SPDX-License-Identifier: Apache-2.0
"""Wrong replacements for parts of the controllers; the simulation has to find each of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import attrs

from controllers.node_lifecycle.health import Health
from controllers.node_lifecycle.monitor import Monitor
from controllers.node_lifecycle.node_lifecycle import NodeLifecycle
from controllers.node_lifecycle.taints import Eviction
from controllers.node_lifecycle.views import MonitoredNodeView
from controllers.node_lifecycle.zones import Zone, ZonePolicy
from controllers.taint_eviction.taint_eviction import TaintEviction
from controllers.taint_eviction.toleration import Taint
from controllers.taint_eviction.views import ToleratingPodView

_heard, _renewed = Monitor.health, Monitor.renewed


def _by_its_lease(monitor: Monitor, health: Health | None) -> Health | None:
    if health is None or health.renewed is None:
        return health
    host = monitor._host
    heard = host.monotonic() - (host.now() - health.renewed).total_seconds()
    return attrs.evolve(health, silent_since=heard, last_sign=heard)


def believes_clocks(monitor: Monitor, node: MonitoredNodeView) -> Health | None:
    """In place of `Monitor.health`: a node was last heard when its lease says, by our wall clock."""
    return _by_its_lease(monitor, _heard(monitor, node))


def believes_clocks_again(monitor: Monitor, name: str, renewed: datetime | None) -> Health | None:
    """In place of `Monitor.renewed`: a node was last heard when its lease says, by our wall clock."""
    return _by_its_lease(monitor, _renewed(monitor, name, renewed))


def no_fresh_grace(node: MonitoredNodeView, renewed: datetime | None, now: float, age: float) -> Health:
    """In place of `first_seen`: a node that is seen for the first time has been silent since its creation."""
    return Health(node.metadata.uid, node.ready, now - age, now - age, renewed)


def believes_its_cache(lifecycle: NodeLifecycle, node: MonitoredNodeView, health: Health) -> Health:
    """In place of `NodeLifecycle._health_at_server`: the watch is never behind."""
    return health


def sees_no_outage(policy: ZonePolicy, zones: Iterable[Zone]) -> bool:
    """In place of `ZonePolicy.are_all_silent`: the control plane is never the culprit."""
    return False


def taints_are_for_ever(node: MonitoredNodeView, *, all_silent: bool) -> Eviction:
    """In place of `eviction`: a taint is never removed because a node returned."""
    if node.ready is None or node.ready.status == "True":
        return Eviction.KEEP
    return Eviction.CLEAR if all_silent else Eviction.ASK


def cached_taints(controller: TaintEviction, pod: ToleratingPodView) -> list[Taint] | None:
    """In place of `TaintEviction._live_taints`: the watch is never behind."""
    return controller._cached_taints(pod)


def counts_anew(taints: Any, tolerations: Any, before: float | None, now: float) -> float | None:
    """In place of `leaves_at`: each look at a pod starts its countdown again."""
    return now + 10.0 if taints else None
