# SPDX-License-Identifier: Apache-2.0
"""What `controllers run` shows: a live table where there is a terminal, plain lines where there is none."""

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
from controllers.command.census import Count
from controllers.command.lookout import Leases, Snapshot
from controllers.node_lifecycle.zones import ZonePolicy, ZoneState

log = get_logger(__name__)

REFRESH = 0.5
"""Seconds between two looks."""


class View(Protocol):
    """Shows snapshots until the program stops; `run` is a thread of its own."""

    def run(self, stop: Stop) -> None:
        """Show, until asked to stop; then show the last state."""


def summary(snapshot: Snapshot) -> dict[str, object]:
    """What a plain line tells of a snapshot, as key=value: only what changes because something happened."""
    fields: dict[str, object] = {}
    if snapshot.nodes is not None:
        fields["nodes"] = snapshot.nodes.nodes
        fields["ready"] = snapshot.nodes.ready.get("True", 0)
        if unknown := snapshot.nodes.ready.get("Unknown"):
            fields["unknown"] = unknown
        if snapshot.nodes.evicting:
            fields["evicting"] = snapshot.nodes.evicting
        for zone, state in disturbed(snapshot.nodes).items():
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


def disturbed(nodes: Count) -> dict[str, ZoneState]:
    """The zones that are not normal, by upstream's thresholds."""
    states = {zone: ZonePolicy().state(ready, not_ready) for zone, (ready, not_ready) in nodes.zones.items()}
    return {zone: state for zone, state in states.items() if state is not ZoneState.NORMAL}


class PlainView:
    """One log line when something has changed, at most one a second."""

    def __init__(self, look: Callable[[], Snapshot]) -> None:
        self._look = look

    def run(self, stop: Stop) -> None:
        """Log what changed, until asked to stop."""
        said: dict[str, object] = {}
        stopped = False
        while not stopped:
            stopped = stop.wait(1.0)
            snapshot = self._look()
            fields = summary(snapshot)
            if fields != said:
                said = fields
                log.info("cluster", **fields, **{f"{c.name}_reconciles": c.reconciles for c in snapshot.controllers})


class LastLines(logging.Handler):
    """Keeps the last few log lines, shortened, for a view that owns the terminal."""

    def __init__(self, size: int = 6) -> None:
        super().__init__()
        self._format = TextFormatter().format
        self._lines: collections.deque[str] = collections.deque(maxlen=size)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record: the first line of it, with the time of day; a level that needs no saying is left out."""
        time, _, line = self._format(record).splitlines()[0].partition("T")[2].partition(" ")
        self._lines.append(f"{time[:8]} {line.removeprefix('INFO').lstrip()}")

    def lines(self) -> list[str]:
        """The lines kept, oldest first."""
        return list(self._lines)


class LiveView:
    """A table that is drawn anew twice a second.

    Args:
        look: Gives the present state; cheap.
        lines: Gives the last log lines.
        title: Names the cluster.
        console: Where to draw.
    """

    def __init__(
        self,
        look: Callable[[], Snapshot],
        lines: Callable[[], list[str]],
        *,
        title: str,
        console: Console | None = None,
    ) -> None:
        self._look = look
        self._lines = lines
        self._title = title
        self._console = console or Console(file=sys.stderr)

    def run(self, stop: Stop) -> None:
        """Draw, until asked to stop; the last state stays on the screen."""
        before = self._look()
        with Live(console=self._console, auto_refresh=False, vertical_overflow="visible") as live:
            stopped = False
            while not stopped:
                stopped = stop.wait(REFRESH)
                now = self._look()
                live.update(self._fitting(picture(self._title, before, now), self._lines()), refresh=True)
                before = now

    def _fitting(self, picture: RenderableType, lines: list[str]) -> RenderableType:
        """As many of the last lines below as the terminal has room for: what is higher than it cannot be redrawn."""
        room = self._console.height - 1 - len(self._console.render_lines(picture))
        return Group(picture, *(_line(line, "dim") for line in lines[-room:] if room > 0))


def picture(title: str, before: Snapshot, now: Snapshot) -> RenderableType:
    """The view without log lines, readable at 80 columns."""
    parts: list[RenderableType] = [Text(title, style="bold")]
    if now.nodes is not None:
        parts.append(_cluster(now.nodes, now.leases or Leases()))
        parts.append(_zones(now.nodes))
        parts.append(_lost(now.nodes))
    if now.pods.pods:
        parts.append(_line(f"pods  {now.pods.pods}, of them ready {now.pods.ready}, going {now.pods.going}", ""))
    if now.leases is not None and now.leases.leaders:
        held = ", ".join(f"{lease}: {holder}" for lease, holder in sorted(now.leases.leaders.items()))
        parts.append(_line(f"leads  {held}", ""))
    parts.append(_controllers(before, now))
    parts += [_line(line, "cyan") for line in now.events]
    return Group(*parts)


def _cluster(nodes: Count, leases: Leases) -> Table:
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


def _zones(nodes: Count) -> Text:
    """The nodes of each zone that are ready, and its state if that is not normal."""
    states = disturbed(nodes)
    texts = []
    for zone, (ready, not_ready) in nodes.zones.items():
        state = f" {states[zone].value}" if zone in states else ""
        texts.append(f"{zone or 'no zone'}{state} {ready}/{ready + not_ready}")
    return _line(f"zones  {', '.join(texts) or '-'}", "red" if states else "")


def _lost(nodes: Count) -> Text:
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
    seconds = max(now.taken_at - before.taken_at, 1e-3)
    for c in now.controllers:
        rate = (c.reconciles - earlier.get(c.name, 0)) / seconds
        errors = Text(str(c.errors), style="red" if c.errors else "")
        table.add_row(c.name, str(c.queued), str(c.reconciles), f"{rate:.0f}", errors)
    return table


def _line(text: str, style: str) -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")
