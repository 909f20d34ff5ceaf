# SPDX-License-Identifier: Apache-2.0
"""Controllers with planted bugs, which the simulation must find: replacements for parts of the real ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import attrs

from controllers.node_lifecycle.health import Health
from controllers.node_lifecycle.monitor import Monitor
from controllers.node_lifecycle.node_lifecycle import NodeLifecycle
from controllers.node_lifecycle.taints import Eviction
from controllers.node_lifecycle.views import NodeView
from controllers.node_lifecycle.zones import Zone, ZonePolicy
from controllers.taint_eviction.taint_eviction import PodView, TaintEviction
from controllers.taint_eviction.toleration import Taint

_heard, _renewed = Monitor.health, Monitor.renewed


def _by_its_lease(monitor: Monitor, health: Health | None) -> Health | None:
    if health is None or health.renewed is None:
        return health
    host = monitor._host
    heard = host.monotonic() - (host.now() - health.renewed).total_seconds()
    return attrs.evolve(health, since=heard, heard=heard)


def believes_clocks(monitor: Monitor, node: NodeView) -> Health | None:
    """Replacement of `Monitor.health`: trusts the time in a node's lease, compared with our wall clock."""
    return _by_its_lease(monitor, _heard(monitor, node))


def believes_clocks_again(monitor: Monitor, name: str, renewed: datetime | None) -> Health | None:
    """Replacement of `Monitor.renewed`: does the same."""
    return _by_its_lease(monitor, _renewed(monitor, name, renewed))


def no_fresh_grace(node: NodeView, renewed: datetime | None, now: float, age: float) -> Health:
    """Replacement of `first_seen`: a node that never reported counts as silent since its creation."""
    return Health(node.metadata.uid, node.ready, now - age, now - age, renewed)


def believes_its_cache(lifecycle: NodeLifecycle, node: NodeView, health: Health) -> Health:
    """Replacement of `NodeLifecycle._asked_the_server`: trusts the cache instead."""
    return health


def sees_no_outage(policy: ZonePolicy, zones: Iterable[Zone]) -> bool:
    """Replacement of `ZonePolicy.are_all_silent`: never suspects the control plane."""
    return False


def taints_are_for_ever(node: NodeView, *, all_silent: bool) -> Eviction:
    """Replacement of `eviction`: never removes a taint."""
    if node.ready is None or node.ready.status == "True":
        return Eviction.KEEP
    return Eviction.CLEAR if all_silent else Eviction.ASK


def cached_taints(controller: TaintEviction, pod: PodView) -> list[Taint] | None:
    """Replacement of `TaintEviction._live_taints`: trusts the cache instead."""
    return controller._cached_taints(pod)


def counts_anew(taints: Any, tolerations: Any, before: float | None, now: float) -> float | None:
    """Replacement of `leaves_at`: the wait of a pod starts again each time that it is looked at."""
    return now + 10.0 if taints else None
