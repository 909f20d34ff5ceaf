# SPDX-License-Identifier: Apache-2.0
"""The data of the status page: its tables at one moment, and the part of them that a reader asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import attrs

MOST_ROWS = 100
"""The most rows of a table that the page shows. A filter also finds the rows beyond."""

LONGEST_CELL = 500
"""The most characters of a cell that the page shows."""

Cell: TypeAlias = "str | int | float"
"""A value in a table: a text, or a number, which is aligned by its digits."""


@attrs.frozen
class StatusRow:
    """One row of a table on the status page.

    Attributes:
        cells: A value for each column. Text is shown literally.
        is_bad: Whether the row needs attention; the page marks such rows, and can show only them.
        story: The controller and the request of the story page that the row links to; None for no link.
    """

    cells: Sequence[Cell]
    is_bad: bool = False
    story: tuple[str, str] | None = None


@attrs.frozen
class StatusTable:
    """One table on the status page.

    Attributes:
        title: The heading, unique on the page.
        columns: The names of the columns.
        rows: The rows, the most important first: the page shows the first `MOST_ROWS`.
        note: A sentence below the heading; empty for none.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[StatusRow] = ()
    note: str = ""

    @property
    def id(self) -> str:
        """The title as an HTML identifier."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or "table"


@attrs.frozen
class Picture:
    """The content of the status page at one moment.

    Attributes:
        title: The heading.
        summary: The state in one line.
        tables: The tables.
    """

    title: str
    summary: str
    tables: tuple[StatusTable, ...]


@attrs.frozen
class Wish:
    """The part of the status page that a reader asks for.

    Attributes:
        text: Only rows with this text in a cell; empty for all rows.
        only_bad: Only rows that need attention.
        controller: The controller of the story to show; empty for any.
        request: The request whose story is shown; empty for the overview.
    """

    text: str = ""
    only_bad: bool = False
    controller: str = ""
    request: str = ""

    @classmethod
    def of(cls, query: Iterable[tuple[str, str]]) -> Wish:
        """Return the choices in a query string; unknown names are ignored."""
        said = dict(query)
        return cls(said.get("q", ""), bool(said.get("bad")), said.get("controller", ""), said.get("request", ""))


def filtered(picture: Picture, wish: Wish) -> Picture:
    """Return the content of a page with only the rows that a reader asks for, of bounded size."""
    return attrs.evolve(picture, tables=tuple(_filtered(table, wish) for table in picture.tables))


def _filtered(table: StatusTable, wish: Wish) -> StatusTable:
    wanted = wish.text.casefold()
    rows = [
        row
        for row in table.rows
        if (row.is_bad or not wish.only_bad) and (not wanted or any(wanted in str(c).casefold() for c in row.cells))
    ]
    shown = [attrs.evolve(row, cells=[_shortened(cell) for cell in row.cells]) for row in rows[:MOST_ROWS]]
    notes = [table.note] if table.note else []
    if len(rows) < len(table.rows):
        notes.append(f"{len(rows)} of {len(table.rows)} rows match the filter.")
    if len(shown) < len(rows):
        notes.append(f"The first {len(shown)} of {len(rows)} rows are shown.")
    return attrs.evolve(table, rows=shown, note=" ".join(notes))


def _shortened(cell: Cell) -> Cell:
    if isinstance(cell, str) and len(cell) > LONGEST_CELL:
        return f"{cell[:LONGEST_CELL]}…"
    return cell


def seconds(value: float) -> str:
    """Return a duration in seconds as text for people: milliseconds, seconds, minutes, hours or days, rounded to three
    significant digits, such as `1.25 s`. A negative one is a time to come: `in 1.25 s`.
    """
    if value < 0:
        return f"in {seconds(-value)}"
    if value < 1:
        return f"{value * 1000:.3g} ms"
    if value < 60:
        return f"{value:.3g} s"
    for unit, size in (("min", 60), ("h", 3600), ("d", 86400)):
        if value < size * {"min": 60, "h": 48, "d": float("inf")}[unit]:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} s"


def size(count: int) -> str:
    """Return a number of bytes as text for people, such as `12 MiB`."""
    for unit in ("B", "KiB", "MiB"):
        if count < 10_000:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"
