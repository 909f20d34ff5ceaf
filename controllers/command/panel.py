# SPDX-License-Identifier: Apache-2.0
"""The tables that `controllers run` adds to the view: nodes by readiness, zone and TTL, leases, pods, and leaders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from controller_runtime.api.resources import LEASES, NODES, PODS, Resource
from controller_runtime.manager.page.tables import StatusRow, StatusTable, seconds
from controllers.command.snapshot import ClusterSnapshot
from controllers.command.zone_states import disrupted_zones
from controllers.node_lifecycle.zones import ZoneState

if TYPE_CHECKING:  # an extra, which the live view alone needs
    from rich.console import RenderableType


@attrs.frozen
class NodePanel:
    """The panel of a cluster's nodes; see `snapshot.Panel`.

    Attributes:
        take: Returns the current state.
    """

    take: Callable[[], ClusterSnapshot]

    @property
    def covers(self) -> frozenset[Resource[Any]]:
        """The resources that the panel shows, which are omitted from the table of kinds."""
        return frozenset((NODES, PODS, LEASES))

    def fields(self) -> Mapping[str, object]:
        """Return the current state as fields of a log line."""
        return summary(self.take())

    def tables(self) -> list[StatusTable]:
        """Return the current state as tables of the status page."""
        return status_tables(self.take())

    def render(self) -> RenderableType:
        """Return the current state as tables for the live view."""
        from controllers.command.node_tables import render  # here, because it needs an extra

        return render(self.take())


def summary(snapshot: ClusterSnapshot) -> dict[str, object]:
    """Return the fields of a log line about a snapshot of a cluster."""
    nodes, leases, pods = snapshot.nodes, snapshot.leases, snapshot.pods
    fields: dict[str, object] = {"nodes": nodes.nodes, "ready": nodes.ready.get("True", 0)}
    if unknown := nodes.ready.get("Unknown"):
        fields["unknown"] = unknown
    if nodes.evicting:
        fields["evicting"] = nodes.evicting
    for zone, state in disrupted_zones(nodes).items():
        fields[f"zone_{zone or 'none'}"] = state.value
    for ttl, count in sorted(nodes.ttl.items()):
        fields[f"ttl_{ttl}" if ttl else "ttl_unset"] = count
    fields |= {"leases": leases.nodes, "silent": leases.silent}
    for lease, holder in sorted(leases.leaders.items()):
        fields[f"leader_{lease}"] = holder
    if pods.pods:
        fields |= {"pods": pods.pods, "pods_ready": pods.ready, "pods_going": pods.going}
    return fields


def status_tables(snapshot: ClusterSnapshot) -> list[StatusTable]:
    """Return a snapshot as tables of the status page: nodes by zone, leases, and changes of leaders."""
    nodes, leases, pods = snapshot.nodes, snapshot.leases, snapshot.pods
    states = disrupted_zones(nodes)
    zones = [
        StatusRow((zone or "no zone", ready, away, states.get(zone, ZoneState.NORMAL).value), is_bad=zone in states)
        for zone, (ready, away) in nodes.zones.items()
    ]
    counts = (nodes.nodes, nodes.ready.get("Unknown", 0), nodes.evicting, pods.pods, pods.ready, pods.going)
    renewed = seconds(leases.oldest) if leases.nodes else ""
    changes = [StatusRow((lease, who or "no replica", seconds(ago))) for ago, lease, who in leases.changes]
    return [
        StatusTable("Zones", ("zone", "ready", "not ready", "state"), zones),
        StatusTable(
            "Nodes and pods",
            ("nodes", "unknown", "evicting", "pods", "pods ready", "pods going"),
            [StatusRow(counts, is_bad=bool(nodes.evicting))],
        ),
        StatusTable(
            "Leases",
            ("node leases", "silent", "oldest renewal"),
            [StatusRow((leases.nodes, leases.silent, renewed), is_bad=bool(leases.silent))],
        ),
        StatusTable(
            "Leaders of the cluster",
            ("lease", "leader", "since"),
            changes,
            "As this program has seen them, the newest first.",
        ),
    ]
