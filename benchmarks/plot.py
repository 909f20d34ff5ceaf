# SPDX-License-Identifier: Apache-2.0
"""Plots of cost against size, from rows such as `sync of 1000 nodes …`; SVG, written without a library."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path

from benchmarks.harness import Row

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 70, 200, 40, 50
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
FIGURES: Mapping[str, str] = {"cpu_s": "CPU seconds", "wall_s": "seconds", "peak_mib": "peak MiB of the process"}

_WORK = re.compile(r"(?P<what>\w+ of) (?P<count>\d+) (?P<things>.*)")

Points = dict[str, list[tuple[float, float]]]
"""Pairs of a count and a figure, by peer."""


def plot(rows: Iterable[Row], directory: Path) -> list[Path]:
    """Write a file for each figure that was measured at several sizes, and return the files.

    They are named `WHAT-of-THINGS-FIGURE.svg`; both axes are logarithmic.
    """
    found: dict[tuple[str, str], Points] = {}
    for row in rows:
        work = _WORK.fullmatch(row.work)
        for figure in FIGURES if work is not None and not row.note else ():
            if row.figures.get(figure, 0.0) > 0.0 and work is not None:
                what = f"{work['what']} {work['things']}"
                points = found.setdefault((what, figure), {}).setdefault(row.who, [])
                points.append((float(work["count"]), row.figures[figure]))
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for (what, figure), by_who in found.items():
        if len({count for points in by_who.values() for count, _ in points}) > 1:
            path = directory / f"{what.replace(' ', '-')}-{figure}.svg"
            path.write_text(drawn(f"{what}: {FIGURES[figure]} by their number", by_who))
            written.append(path)
    return written


def drawn(title: str, by_who: Points) -> str:
    """Return the SVG of one plot."""
    x = _Axis([count for points in by_who.values() for count, _ in points], LEFT, WIDTH - RIGHT)
    y = _Axis([value for points in by_who.values() for _, value in points], HEIGHT - BOTTOM, TOP)
    parts = [f'<text x="{LEFT}" y="24" font-size="16">{escape(title)}</text>', *_grid(x, y)]
    for number, (who, points) in enumerate(by_who.items()):
        parts += _line(who, [(x.at(count), y.at(value)) for count, value in sorted(points)], number)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


class _Axis:
    """A logarithmic axis: the whole decades around some values, between two coordinates."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        self._low = math.floor(math.log10(min(values)))
        self._high = max(self._low + 1, math.ceil(math.log10(max(values))))
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        """Return the coordinate of a value."""
        part = (math.log10(value) - self._low) / (self._high - self._low)
        return round(self._start + part * (self._end - self._start), 1)

    def ticks(self) -> list[float]:
        """Return the powers of ten on the axis."""
        return [10.0**power for power in range(self._low, self._high + 1)]


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for tick in x.ticks():
        yield f'<line x1="{x.at(tick)}" x2="{x.at(tick)}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield f'<text x="{x.at(tick)}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{tick:,.0f}</text>'
    for tick in y.ticks():
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y.at(tick)}" y2="{y.at(tick)}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y.at(tick) + 4}" text-anchor="end">{tick:,g}</text>'


def _line(who: str, points: list[tuple[float, float]], number: int) -> Iterator[str]:
    colour = COLOURS[number % len(COLOURS)]
    places = " ".join(f"{px},{py}" for px, py in points)
    yield f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for px, py in points:
        yield f'<circle cx="{px}" cy="{py}" r="3.5" fill="{colour}"/>'
    place = TOP + 14 + 20 * number
    yield f'<rect x="{WIDTH - RIGHT + 14}" y="{place - 9}" width="12" height="12" fill="{colour}"/>'
    yield f'<text x="{WIDTH - RIGHT + 32}" y="{place + 1}">{escape(who)}</text>'
