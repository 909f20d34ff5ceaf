# SPDX-License-Identifier: Apache-2.0
"""The rows of one run as the tables need them: figures as text, budgets, and how they were obtained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import attrs

from benchmarks.harness import Row

MISSING = "–"
OURS = "controller-runtime"
_VERDICT = re.compile(r"(\w+): budget ([<>]=) ([\d.]+), (kept|MISSED)")


@attrs.frozen
class About:
    """How the figures of a run were obtained.

    Attributes:
        when: The day.
        commit: The commit of the project.
        command: The command line.
        python: Python's version.
        machine: The processor, and how many of them.
        packages: The versions of the peers.
        server: The release of the server of `--kubeconfig`; empty without one.
        load: The average load of the machine at the begin and at the end, which is 1 or less on a quiet machine.
        runs: The number of runs whose median is reported.
    """

    when: str
    commit: str
    command: str
    python: str
    machine: str
    packages: str
    server: str
    load: tuple[float, float]
    runs: int


class Measured:
    """The rows of a run, by work and peer.

    Attributes:
        about: How they were obtained.
        is_any: Whether there are any.
        absent: Works, or peers at a work, that tables have asked for and the run does not have.
    """

    def __init__(self, about: About, rows: Sequence[Row]) -> None:
        self.about = about
        self._rows = {(row.work, row.who): row for row in rows}
        self._works = {row.work for row in rows}
        self.is_any = bool(self._rows)
        self.absent: dict[str, None] = {}

    def number(self, work: str, who: str, figure: str) -> float | None:
        """Return a figure; None if it was not measured."""
        row = self._row(work, who)
        return None if row is None else row.figures.get(figure)

    def text(self, work: str, who: str, *figures: str) -> str:
        """Return figures with slashes between them, or why there are none."""
        row = self._row(work, who)
        if row is None or not row.figures:
            return MISSING
        if {"objects", "cpu_s"} <= row.figures.keys() and row.note:  # a peer that did not come to the end
            return f"{row.figures['objects']:,.0f} of them with {row.figures['cpu_s']:.0f} s"
        return " / ".join(shown(row.figures[figure]) if figure in row.figures else MISSING for figure in figures)

    def judged(self, work: str, figure: str, who: str = OURS) -> tuple[str, str]:
        """Return the budget of a figure, and the figure itself with a word if the budget was missed."""
        row, text = self._row(work, who), self.text(work, who, figure)
        found = {each[0]: each for each in _VERDICT.findall("" if row is None else row.note)}
        if figure not in found:
            return "", text
        _, relation, limit, verdict = found[figure]
        words = f"{'at most' if relation == '<=' else 'at least'} {shown(float(limit))}"
        return words, text if verdict == "kept" else f"{text}, **missed**"

    def _row(self, work: str, who: str) -> Row | None:
        row = self._rows.get((work, who))
        if work not in self._works:
            self.absent[work] = None
        elif row is None or (not row.figures and not row.note.startswith("not run")):
            self.absent[f"{work} by {who}"] = None
        return row


def shown(number: float) -> str:
    """Return a number with two significant digits below ten, and as a whole number from there on."""
    if abs(number) >= 10:
        return f"{number:,.0f}"
    return f"{number:.2g}" if abs(number) < 1 else f"{number:.1f}"


def grid(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = (head, ["---"] * len(head), *lines)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def bold(who: str) -> str:
    """Return a peer's name, with this project's in bold."""
    return who.replace(OURS, f"**{OURS}**")
