# SPDX-License-Identifier: Apache-2.0
"""A timeline as SVG, written without a library: bars for states, lines for numbers, ticks for what happened."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from html import escape as escaped

WIDTH, LEFT, RIGHT, TOP = 960, 210, 24, 44
BAR, LINE, GAP, MARKS = 20, 40, 10, 16
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a00", "#7a5195")
"""Colours that people without some sight of colours can tell apart; each bar has its text as well."""

_STYLE = (
    "<style>text{font:12px sans-serif;fill:#1b1b1f}"
    ".dim{fill:#5b5b66}.b{font-weight:bold}.in{fill:#fff}.back{fill:#fff}.grid{stroke:#ddd}"
    "@media(prefers-color-scheme:dark){text{fill:#e9e9ee}.dim{fill:#a4a4b0}.back{fill:#16161a}.grid{stroke:#3a3a44}}"
    "</style>"
)

Changes = Sequence[tuple[float, object]]

_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def escape(text: str) -> str:
    """Return a text escaped for XML. Characters that XML does not allow become U+FFFD."""
    return escaped(_NOT_XML.sub("\ufffd", text))


def drawn(
    title: str,
    lanes: Sequence[tuple[str, bool, Changes]],
    marks: Sequence[tuple[float, str]],
    end: float,
    note: str = "",
) -> str:
    """Return the picture of a timeline as SVG.

    Args:
        title: The heading.
        lanes: For each fact its name, whether its values are numbers, and the time in seconds of each value.
        marks: The time in seconds and the text of each event.
        end: The time at which the picture ends, in seconds.
        note: A line of text below the picture.
    """
    heights = [(LINE if is_number else BAR) + GAP for _, is_number, _ in lanes]
    bottom = TOP + sum(heights) + (MARKS + GAP if marks else 0)
    parts = [f'<text x="12" y="24" class="b">{escape(title)}</text>', *_grid(end, bottom)]
    y = TOP
    colours: dict[str, str] = {}
    for (name, is_number, changes), height in zip(lanes, heights, strict=True):
        parts.append(f'<text x="12" y="{y + (height - GAP) / 2 + 4:g}">{escape(_cut(name, LEFT - 20))}</text>')
        parts += _line(changes, end, y) if is_number else _bars(changes, end, y, colours)
        y += height
    if marks:
        parts.append(f'<text x="12" y="{y + 12}">events</text>')
        parts += _marks(marks, end, y)
    if note:
        parts.append(f'<text class="dim" x="12" y="{bottom + 34}">{escape(note)}</text>')
    height = bottom + (44 if note else 28)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
        f'<title>{escape(title)}</title>{_STYLE}<rect class="back" width="100%" height="100%"/>{"".join(parts)}</svg>\n'
    )


def _x(seconds: float, end: float) -> float:
    return round(LEFT + seconds / end * (WIDTH - LEFT - RIGHT), 1)


def step_of(end: float) -> float:
    """Return the seconds between two lines of the grid, a round number; there are about eight lines."""
    rough = end / 8
    if rough <= 0:
        return 1.0
    for step in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400):
        if rough <= step and rough > 0.5:
            return float(step)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if rough <= power * factor)


def _grid(end: float, bottom: float) -> Iterator[str]:
    step = step_of(end)
    for number in range(int(end / step) + 1):
        x = _x(number * step, end)
        yield f'<line class="grid" x1="{x:g}" x2="{x:g}" y1="{TOP - 6}" y2="{bottom:g}"/>'
        yield f'<text class="dim" x="{x:g}" y="{bottom + 16:g}" text-anchor="middle">{_time(number * step)}</text>'


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes}:{rest:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _spans(changes: Changes, end: float) -> Iterator[tuple[float, float, object]]:
    ends = [at for at, _ in changes[1:]] + [end]
    for (start, value), until in zip(changes, ends, strict=True):
        if value is not None and until >= start:
            yield start, until, value


def _bars(changes: Changes, end: float, y: float, colours: dict[str, str]) -> Iterator[str]:
    for start, until, value in _spans(changes, end):
        text = str(value)
        if not text:
            continue
        colour = colours.setdefault(text, COLOURS[len(colours) % len(COLOURS)])
        left, width = _x(start, end), max(round(_x(until, end) - _x(start, end), 1), 1.0)
        told = f"{text}, {_time(round(start, 1))} to {_time(round(until, 1))}"
        yield (
            f'<g><title>{escape(told)}</title><rect x="{left:g}" y="{y:g}" width="{width:g}" height="{BAR}" '
            f'rx="3" fill="{colour}"/>'
        )
        if shown := _cut(text, width - 8):
            yield f'<text class="in" x="{left + 4:g}" y="{y + 14:g}">{escape(shown)}</text>'
        yield "</g>"


def _line(changes: Changes, end: float, y: float) -> Iterator[str]:
    spans = [(start, until, float(str(value))) for start, until, value in _spans(changes, end)]
    most = max(value for *_, value in spans)
    least = min(0.0, *(value for *_, value in spans))
    size = (most - least) or 1.0

    def height(value: float) -> float:
        return round(y + LINE - (value - least) / size * LINE, 1)

    path, before = [], -1.0
    for start, until, value in spans:
        path.append(f"{'L' if start == before else 'M'}{_x(start, end):g},{height(value):g}H{_x(until, end):g}")
        before = until
    yield f'<path d="{"".join(path)}" fill="none" stroke="{COLOURS[0]}" stroke-width="2"/>'
    yield f'<text class="dim" x="{LEFT - 6}" y="{y + 10:g}" text-anchor="end">{most:g}</text>'
    yield f'<text class="dim" x="{LEFT - 6}" y="{y + LINE:g}" text-anchor="end">{least:g}</text>'


def _marks(marks: Sequence[tuple[float, str]], end: float, y: float) -> Iterator[str]:
    for at, text in marks:
        told = f"{_time(round(at, 1))}: {text}"
        dot = f'<circle cx="{_x(at, end):g}" cy="{y + 8:g}" r="4" fill="{COLOURS[1]}"/>'
        yield f"<g><title>{escape(told)}</title>{dot}</g>"


def _cut(text: str, width: float) -> str:
    """Return as much of a text as fits into a width, by the mean width of a letter; empty if nothing does."""
    letters = int(width / 6.8)
    return text if len(text) <= letters else f"{text[: letters - 1]}…" if letters > 3 else ""
