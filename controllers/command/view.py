# SPDX-License-Identifier: Apache-2.0
"""The views of `controllers run`: a live table on a terminal, and otherwise log lines."""

from __future__ import annotations

import collections
import logging
import sys
from collections.abc import Callable
from typing import Protocol

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from controller_runtime.core.log import TextFormatter, get_logger
from controller_runtime.core.stop import Stop
from controllers.command.snapshot import LeaseSummary, Snapshot
from controllers.command.snapshot_counters import NodeCounts
from controllers.node_lifecycle.zones import ZonePolicy, ZoneState

log = get_logger(__name__)

REFRESH = 0.5
"""Seconds between two pictures of the live view."""


class View(Protocol):
    """Shows snapshots until the program stops."""

    def run(self, stop: Stop) -> None:
        """Show snapshots until `stop` is set, then one last one. Blocks, so it runs on a thread of its own."""


def summary(snapshot: Snapshot) -> dict[str, object]:
    """Return the fields of a log line about a snapshot.

    They leave out what changes all the time, such as the number of reconciles, so that equal
    fields mean that nothing has happened.
    """
    fields: dict[str, object] = {}
    if snapshot.nodes is not None:
        fields["nodes"] = snapshot.nodes.nodes
        fields["ready"] = snapshot.nodes.ready.get("True", 0)
        if unknown := snapshot.nodes.ready.get("Unknown"):
            fields["unknown"] = unknown
        if snapshot.nodes.evicting:
            fields["evicting"] = snapshot.nodes.evicting
        for zone, state in disrupted_zones(snapshot.nodes).items():
            fields[f"zone_{zone or 'none'}"] = state.value
        for ttl, nodes in sorted(snapshot.nodes.ttl.items()):
            fields[f"ttl_{ttl}" if ttl else "ttl_unset"] = nodes
    if snapshot.leases is not None:
        fields["leases"] = snapshot.leases.nodes
        fields["silent"] = snapshot.leases.silent
        for lease, holder in sorted(snapshot.leases.leaders.items()):
            fields[f"leader_{lease}"] = holder
    if snapshot.pods.pods:
        fields |= {"pods": snapshot.pods.pods, "pods_ready": snapshot.pods.ready, "pods_going": snapshot.pods.going}
    for c in snapshot.controllers:
        fields[f"{c.name}_errors"] = c.errors
    return fields


def disrupted_zones(nodes: NodeCounts) -> dict[str, ZoneState]:
    """Return the state of each zone that is not normal, by the default thresholds of the node lifecycle controller."""
    states = {zone: ZonePolicy().state(ready, not_ready) for zone, (ready, not_ready) in nodes.zones.items()}
    return {zone: state for zone, state in states.items() if state is not ZoneState.NORMAL}


class PlainView:
    """Writes a log line when something has changed, at most one per second."""

    def __init__(self, take: Callable[[], Snapshot]) -> None:
        self._take = take

    def run(self, stop: Stop) -> None:
        """Log each change of the summary until `stop` is set."""
        logged: dict[str, object] = {}
        stopped = False
        while not stopped:
            stopped = stop.wait(1.0)
            snapshot = self._take()
            fields = summary(snapshot)
            if fields != logged:
                logged = fields
                log.info("cluster", **fields, **{f"{c.name}_reconciles": c.reconciles for c in snapshot.controllers})


class LastLines(logging.Handler):
    """A log handler that keeps the last few lines, shortened, to be shown by the live view."""

    def __init__(self, size: int = 6) -> None:
        super().__init__()
        self._format = TextFormatter().format
        self._lines: collections.deque[str] = collections.deque(maxlen=size)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first line of the record, with the time of day and without the date; INFO is left out."""
        time, _, line = self._format(record).splitlines()[0].partition("T")[2].partition(" ")
        self._lines.append(f"{time[:8]} {line.removeprefix('INFO').lstrip()}")

    def lines(self) -> list[str]:
        """Return the lines that are kept, oldest first."""
        return list(self._lines)


class LiveView:
    """A table that is redrawn twice per second.

    Args:
        take: Returns the present state.
        lines: Returns the last log lines.
        title: Names the cluster.
        console: The terminal; standard error by default.
    """

    def __init__(
        self,
        take: Callable[[], Snapshot],
        lines: Callable[[], list[str]],
        *,
        title: str,
        console: Console | None = None,
    ) -> None:
        self._take = take
        self._lines = lines
        self._title = title
        self._console = console or Console(file=sys.stderr)

    def run(self, stop: Stop) -> None:
        """Redraw the table until `stop` is set; the last state stays on the screen."""
        before = self._take()
        with Live(console=self._console, auto_refresh=False, vertical_overflow="visible") as live:
            stopped = False
            while not stopped:
                stopped = stop.wait(REFRESH)
                now = self._take()
                live.update(self._with_log(render(self._title, before, now), self._lines()), refresh=True)
                before = now

    def _with_log(self, tables: RenderableType, lines: list[str]) -> RenderableType:
        """Add as many of the last log lines as the terminal has rows left: a higher picture could not be redrawn."""
        rows = self._console.height - 1 - len(self._console.render_lines(tables))
        return Group(tables, *(_line(line, "dim") for line in lines[-rows:] if rows > 0))


def render(title: str, before: Snapshot, now: Snapshot) -> RenderableType:
    """Return the tables of a live view, readable at 80 columns.

    Args:
        title: Names the cluster.
        before: The snapshot before `now`, from which rates are computed.
        now: The snapshot to show.
    """
    parts: list[RenderableType] = [Text(title, style="bold")]
    if now.nodes is not None:
        parts.append(_cluster(now.nodes, now.leases or LeaseSummary()))
        parts.append(_zones(now.nodes))
        parts.append(_unreachable(now.nodes))
    if now.pods.pods:
        parts.append(_line(f"pods  {now.pods.pods}, of them ready {now.pods.ready}, going {now.pods.going}", ""))
    if now.leases is not None and now.leases.leaders:
        held = ", ".join(f"{lease}: {holder}" for lease, holder in sorted(now.leases.leaders.items()))
        parts.append(_line(f"leads  {held}", ""))
    parts.append(_controllers(before, now))
    parts += [_line(line, "cyan") for line in now.events]
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
    return _line(f"zones  {', '.join(texts) or '-'}", "red" if states else "")


def _unreachable(nodes: NodeCounts) -> Text:
    unknown = nodes.ready.get("Unknown", 0)
    return _line(
        f"nodes  {unknown} Unknown, {nodes.evicting} tainted NoExecute", "red" if unknown + nodes.evicting else ""
    )


def _controllers(before: Snapshot, now: Snapshot) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("controller")
    for column in ("queued", "reconciles", "per second", "errors"):
        table.add_column(column, justify="right")
    earlier = {c.name: c.reconciles for c in before.controllers}
    seconds = max(now.taken_at - before.taken_at, 1e-3)  # the first two snapshots may be of one instant
    for c in now.controllers:
        rate = (c.reconciles - earlier.get(c.name, 0)) / seconds
        errors = Text(str(c.errors), style="red" if c.errors else "")
        table.add_row(c.name, str(c.queued), str(c.reconciles), f"{rate:.0f}", errors)
    return table


def _line(text: str, style: str) -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")
