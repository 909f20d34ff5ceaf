# SPDX-License-Identifier: Apache-2.0
"""What `controllers run` shows: a live table where there is a terminal, plain lines where there is none."""

from __future__ import annotations

import collections
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Protocol

import attrs
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from controller_runtime.core.host import Clock, Host
from controller_runtime.core.log import TextFormatter, get_logger
from controller_runtime.core.stop import Stop
from controllers.census import Count

log = get_logger(__name__)

REFRESH = 0.5
"""Seconds between two looks."""


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
    census: Count
    controllers: Sequence[ControllerStatus]


class View(Protocol):
    """Shows snapshots until the program stops; `run` is a thread of its own."""

    def run(self, stop: Stop) -> None:
        """Show, until asked to stop; then show the last state."""


def summary(count: Count) -> dict[str, object]:
    """The census as the key=value part of a log line."""
    fields: dict[str, object] = {"nodes": count.nodes}
    for ttl, nodes in sorted(count.ttl.items()):
        fields[f"ttl_{ttl}" if ttl else "ttl_unset"] = nodes
    return fields


class PlainView:
    """One log line when the census has changed, at most one a second."""

    def __init__(self, host: Host, look: Callable[[], Snapshot]) -> None:
        self._host = host
        self._look = look

    def run(self, stop: Stop) -> None:
        """Log what changed, until asked to stop."""
        said: Count | None = None
        stopped = False
        while not stopped:
            stopped = stop.wait(1.0)
            snapshot = self._look()
            if snapshot.census != said:
                said = snapshot.census
                rates = {f"{c.name}_reconciles": c.reconciles for c in snapshot.controllers}
                log.info("cluster", **summary(said), **rates)


class LastLines(logging.Handler):
    """Keeps the last few log lines, for a view that owns the terminal."""

    def __init__(self, size: int = 6) -> None:
        super().__init__()
        self._format = TextFormatter().format
        self._lines: collections.deque[str] = collections.deque(maxlen=size)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record: the first line of it, with the time of day alone."""
        self._lines.append(self._format(record).splitlines()[0].partition("T")[2])

    def lines(self) -> list[str]:
        """The lines kept, oldest first."""
        return list(self._lines)


class LiveView:
    """A table that is drawn anew twice a second.

    Args:
        host: What to wait on.
        look: Gives the present state; cheap.
        lines: Gives the last log lines.
        title: Names the cluster.
        console: Where to draw.
    """

    def __init__(
        self,
        host: Host,
        look: Callable[[], Snapshot],
        lines: Callable[[], list[str]],
        *,
        title: str,
        console: Console | None = None,
    ) -> None:
        self._host = host
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
                live.update(picture(self._title, before, now, self._lines()), refresh=True)
                before = now


def picture(title: str, before: Snapshot, now: Snapshot, lines: list[str]) -> RenderableType:
    """The whole view, readable at 80 columns."""
    ready = now.census.ready
    nodes = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    nodes.add_column("nodes", justify="right")
    nodes.add_column("ready", justify="right", style="green")
    nodes.add_column("not ready", justify="right")
    nodes.add_column("TTL annotation (nodes)")
    ttl = ", ".join(f"{t or 'unset'} ({n})" for t, n in sorted(now.census.ttl.items()))
    not_ready = now.census.nodes - ready.get("True", 0)
    nodes.add_row(str(now.census.nodes), str(ready.get("True", 0)), str(not_ready), ttl or "-")
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
    log_lines = [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in lines]
    return Group(nodes, table, *log_lines)


def snapshot(clock: Clock, census: Count, controllers: Sequence[ControllerStatus]) -> Snapshot:
    """A snapshot taken now."""
    return Snapshot(clock.monotonic(), census, controllers)
