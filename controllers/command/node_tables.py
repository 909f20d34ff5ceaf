# SPDX-License-Identifier: Apache-2.0
"""The tables of `controllers run` in the live view."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from controller_runtime.program.live_view import line_of
from controllers.command.snapshot import ClusterSnapshot, LeaseSummary
from controllers.command.snapshot_counters import NodeCounts
from controllers.command.zone_states import disrupted_zones


def render(snapshot: ClusterSnapshot) -> RenderableType:
    """Return the tables of `controllers run` for the live view, readable at 80 columns."""
    nodes, leases, pods = snapshot.nodes, snapshot.leases, snapshot.pods
    parts: list[RenderableType] = [_cluster(nodes, leases), _zones(nodes), _unreachable(nodes)]
    if pods.pods:
        parts.append(line_of(f"pods  {pods.pods}, of them ready {pods.ready}, going {pods.going}", ""))
    if leases.leaders:
        held = ", ".join(f"{lease}: {holder}" for lease, holder in sorted(leases.leaders.items()))
        parts.append(line_of(f"leads  {held}", ""))
    return Group(*parts)


def _cluster(nodes: NodeCounts, leases: LeaseSummary) -> Table:
    ready = nodes.ready.get("True", 0)
    table = Table(box=SIMPLE_HEAD)
    for column in ("nodes", "ready", "not ready", "leases", "silent", "renewed"):
        table.add_column(column, justify="right")
    table.add_column("TTL (nodes)")
    ttl = ", ".join(f"{t or 'unset'} ({n})" for t, n in sorted(nodes.ttl.items()))
    away = nodes.nodes - ready
    table.add_row(
        str(nodes.nodes),
        Text(str(ready), style="green" if ready else ""),
        Text(str(away), style="red" if away else ""),
        str(leases.nodes),
        Text(str(leases.silent), style="red" if leases.silent else ""),
        f"{leases.oldest:.0f} s ago" if leases.nodes else "-",
        ttl or "-",
    )
    return table


def _zones(nodes: NodeCounts) -> Text:
    """Return the line that shows the ready nodes of each zone, and the zone's state if it is not normal."""
    states = disrupted_zones(nodes)
    texts = []
    for zone, (ready, not_ready) in nodes.zones.items():
        state = f" {states[zone].value}" if zone in states else ""
        texts.append(f"{zone or 'no zone'}{state} {ready}/{ready + not_ready}")
    return line_of(f"zones  {', '.join(texts) or '-'}", "red" if states else "")


def _unreachable(nodes: NodeCounts) -> Text:
    unknown = nodes.ready.get("Unknown", 0)
    return line_of(
        f"nodes  {unknown} Unknown, {nodes.evicting} tainted NoExecute", "red" if unknown + nodes.evicting else ""
    )
