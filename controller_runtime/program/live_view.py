# SPDX-License-Identifier: Apache-2.0
"""The live view of a program: tables on a terminal, redrawn at most twice per second. The only module that draws."""

from __future__ import annotations

import sys
from collections.abc import Callable

import attrs
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from apimachinery.stop import Stop
from controller_runtime.program.kinds import KindCounts
from controller_runtime.program.snapshot import Snapshot

REFRESH = 0.5
"""The least seconds between two drawings of the live view."""

SHARE = 0.01
"""The greatest share of the time that drawing may take. A display that takes long is drawn less often."""

LONGEST_PAUSE = 5.0
"""The most seconds between two drawings."""


class LiveView:
    """A display on a terminal that is redrawn up to twice per second, when something has changed.

    Args:
        take: Returns the current state.
        lines: Returns the last log lines.
        title: The title, with the name of the cluster.
        clock: Returns monotonic seconds, to measure how long drawing takes.
        console: The terminal; standard error by default.
    """

    def __init__(
        self,
        take: Callable[[], Snapshot],
        lines: Callable[[], list[str]],
        *,
        title: str,
        clock: Callable[[], float],
        console: Console | None = None,
    ) -> None:
        self._take = take
        self._lines = lines
        self._title = title
        self._clock = clock
        self._console = console or Console(file=sys.stderr)

    def run(self, stop: Stop) -> None:
        """Redraw the display until `stop` is set; the last state stays on the screen."""
        before = self._take()
        pause, drawn = REFRESH, ""
        with Live(console=self._console, auto_refresh=False, vertical_overflow="visible") as live:
            stopped = False
            while not stopped:
                stopped = stop.wait(pause)
                began = self._clock()
                now, lines = self._take(), self._lines()
                # A picture that shows a rate is drawn once more after the last change, when the rate is zero.
                shown = repr((shown_facts(before), shown_facts(now), lines, self._console.size))
                if shown != drawn or stopped:
                    live.update(self._picture(render(self._title, before, now), lines), refresh=True)
                before, drawn = now, shown
                pause = pause_after(self._clock() - began)

    def _picture(self, tables: RenderableType, lines: list[str]) -> RenderableType:
        """Return the tables as they are drawn, with as many of the last log lines as the terminal has rows left.

        A picture that is higher than the terminal could not be redrawn, so it is cut. The tables are laid out once,
        since that is most of what a picture costs.
        """
        rows, laid_out = self._console.height - 1, self._console.render_lines(tables, pad=False)
        if len(laid_out) > rows > 0:
            text = f"{len(laid_out) - rows + 1} more rows: make the terminal higher"
            laid_out = [*laid_out[: rows - 1], [Segment(text[: self._console.width])]]
        left = rows - len(laid_out)
        drawn = Segments([part for line in laid_out for part in (*line, Segment.line())])
        return Group(drawn, *(line_of(line, "dim") for line in lines[-left:] if left > 0))


def pause_after(took: float) -> float:
    """Return the seconds until the next redraw, after one that took `took` seconds."""
    return min(max(took / SHARE, REFRESH), LONGEST_PAUSE)


def shown_facts(snapshot: Snapshot) -> object:
    """Return the parts of a snapshot on which the display depends, without the time, to detect changes."""
    return attrs.evolve(snapshot, taken_at=0.0, panels=()), [panel.fields() for panel in snapshot.panels]


def render(title: str, before: Snapshot, now: Snapshot) -> RenderableType:
    """Return the tables of a live view, readable at 80 columns.

    Args:
        title: The title, with the name of the cluster.
        before: The snapshot before `now`, from which rates are computed.
        now: The snapshot to show.
    """
    parts: list[RenderableType] = [Text(title, style="bold")]
    parts += [panel.render() for panel in now.panels]
    if now.kinds:
        parts.append(_kinds(now.kinds))
    if now.leader:
        parts.append(line_of(f"leader  {now.leader}", ""))
    parts += [line_of(f"ring    {line}", "") for line in now.ring_lines]
    parts.append(_controllers(before, now))
    parts += [line_of(line, "cyan") for line in now.events]
    return Group(*parts)


def line_of(text: str, style: str) -> Text:
    """Return one line, which is cut with an ellipsis if the terminal is too narrow."""
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _kinds(kinds: tuple[KindCounts, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("kind", no_wrap=True, overflow="ellipsis")
    table.add_column("objects", justify="right")
    table.add_column("conditions", no_wrap=True, overflow="ellipsis")
    for kind in kinds:
        true, _, _ = next(iter(kind.conditions.values()), (kind.objects, 0, 0))
        table.add_row(kind.name, str(kind.objects), Text(kind.text(), style="red" if true < kind.objects else ""))
    return table


def _controllers(before: Snapshot, now: Snapshot) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("controller")
    for column in ("queued", "reconciles", "per second", "errors"):
        table.add_column(column, justify="right")
    earlier = {c.name: c.reconciles for c in before.controllers}
    seconds = max(now.taken_at - before.taken_at, 1e-3)  # the first two snapshots may be of one instant
    for c in now.controllers:
        rate = max(c.reconciles - earlier.get(c.name, 0), 0) / seconds  # fewer than before after a reload
        errors = Text(str(c.errors), style="red" if c.errors else "")
        table.add_row(c.name, str(c.queued), str(c.reconciles), f"{rate:.0f}", errors)
    return table
