# SPDX-License-Identifier: Apache-2.0
"""Controllers that are wrong on purpose, to see that the weather finds them: stand-ins for parts of the real ones."""

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
    """In place of `Monitor.health`: a node was last heard when its lease says, by our wall clock."""
    return _by_its_lease(monitor, _heard(monitor, node))


def believes_clocks_again(monitor: Monitor, name: str, renewed: datetime | None) -> Health | None:
    """In place of `Monitor.renewed`: likewise."""
    return _by_its_lease(monitor, _renewed(monitor, name, renewed))


def no_fresh_grace(node: NodeView, renewed: datetime | None, now: float, age: float) -> Health:
    """In place of `first_seen`: whom nobody has heard of yet has been silent since it was made."""
    return Health(node.metadata.uid, node.ready, now - age, now - age, renewed)


def believes_its_cache(lifecycle: NodeLifecycle, node: NodeView, health: Health) -> Health:
    """In place of `NodeLifecycle._asked_the_server`: the watch will have told everything."""
    return health


def sees_no_outage(policy: ZonePolicy, zones: Iterable[Zone]) -> bool:
    """In place of `ZonePolicy.are_all_silent`: it is never the control plane."""
    return False


def taints_are_for_ever(node: NodeView, *, all_silent: bool) -> Eviction:
    """In place of `eviction`: once tainted, tainted."""
    if node.ready is None or node.ready.status == "True":
        return Eviction.KEEP
    return Eviction.CLEAR if all_silent else Eviction.ASK


def cached_taints(controller: TaintEviction, pod: PodView) -> list[Taint] | None:
    """In place of `TaintEviction._live_taints`: the watch will have told everything."""
    return controller._cached_taints(pod)


def counts_anew(taints: Any, tolerations: Any, before: float | None, now: float) -> float | None:
    """In place of `leaves_at`: whoever is looked at again begins again."""
    return now + 10.0 if taints else None
