# SPDX-License-Identifier: Apache-2.0
"""The views of a program that need no terminal: log lines, and the choice between them and the live view."""

from __future__ import annotations

import collections
import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from apimachinery.log import TextFormatter, get_logger
from apimachinery.stop import Stop
from controller_runtime.core.extras import remedy
from controller_runtime.program.snapshot import ControllerStatus, Snapshot

log = get_logger(__name__)

FEW = 5
"""The most controllers, and the most kinds, each of which a log line reports; with more, it reports what there is."""

SPOKEN_PAUSE = 3.0
"""Seconds between two lines of the spoken view, at least."""


class View(Protocol):
    """Shows snapshots until the program stops."""

    def run(self, stop: Stop) -> None:
        """Show snapshots until `stop` is set, then a last one. It blocks, so it runs on its own thread."""


def choose_view(asked: bool | None, *, text_log: bool, terminal: bool, rich: bool) -> tuple[bool, str]:
    """Return whether to show the live view, and why not if it was asked for (otherwise an empty text).

    Args:
        asked: The user's choice; None if there is none.
        text_log: Whether the log is text at its usual level, so that the user probably needs no log lines.
        terminal: Whether standard error is a terminal.
        rich: Whether the package that draws the view is installed.
    """
    if asked is None:
        return text_log and terminal and rich, ""
    if asked and not terminal:
        return False, "the live view needs a terminal, so log lines are shown instead"
    if asked and not rich:
        return False, f"the live view needs rich, so log lines are shown instead: {remedy('cli')}"
    return asked, ""


def summary(snapshot: Snapshot) -> dict[str, object]:
    """Return the fields of a log line about a snapshot.

    Values that change all the time, such as the number of reconciles, are omitted, so that equal fields mean that
    nothing has changed.
    """
    fields: dict[str, object] = {}
    for panel in snapshot.panels:
        fields |= panel.fields()
    for kind in snapshot.kinds:
        if not kind.objects and len(snapshot.kinds) > FEW:
            continue
        name = kind.name.replace(" ", "_")
        fields[name] = kind.objects
        for condition, (true, *_) in [*kind.conditions.items()][:1]:
            fields[f"{name}_{condition}"] = true
    if snapshot.leader:
        fields["leader"] = snapshot.leader
    for name, slots in snapshot.rings:
        fields[f"{name}_slots"] = slots
    if snapshot.ring_lines:
        fields["ring"] = "; ".join(snapshot.ring_lines)
    return fields | _errors(snapshot.controllers)


def _errors(controllers: Sequence[ControllerStatus]) -> dict[str, int]:
    """Return the errors of each controller; of many, their sum and those of the controllers that have any."""
    each = {f"{c.name}_errors": c.errors for c in controllers}
    if len(controllers) <= FEW:
        return each
    return {"errors": sum(each.values()), **{name: count for name, count in each.items() if count}}


def reconciles(controllers: Sequence[ControllerStatus]) -> dict[str, int]:
    """Return the number of reconciles of each controller; if there are many controllers, only the sum."""
    each = {f"{c.name}_reconciles": c.reconciles for c in controllers}
    return each if len(controllers) <= FEW else {"reconciles": sum(each.values())}


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
                log.info("cluster", **fields, **reconciles(snapshot.controllers))


class SpokenView:
    """Writes plain lines that describe changes: for screen readers, and for reading on paper.

    It uses no colors, no boxes and no cursor movements.

    Args:
        take: Returns the current state.
        write: Writes a line.
    """

    def __init__(self, take: Callable[[], Snapshot], write: Callable[[str], object]) -> None:
        self._take = take
        self._write = write

    def run(self, stop: Stop) -> None:
        """Write all facts, then their changes, at most every `SPOKEN_PAUSE` seconds, until `stop` is set."""
        told: dict[str, object] = {}
        stopped = False
        while not stopped:
            stopped = stop.wait(SPOKEN_PAUSE if told else 1.0)
            facts = summary(self._take())
            if line := spoken(told, facts):
                self._write(line)
            told = facts


def spoken(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Return the differences between two summaries in words; empty if there are none."""
    parts = []
    for name, value in now.items():
        words = name.replace("_", " ")
        if name not in before:
            parts.append(f"{words} {value}")
        elif before[name] != value:
            parts.append(f"{words} {value}, was {before[name]}")
    parts += [f"{name.replace('_', ' ')} gone" for name in before if name not in now]
    return "; ".join(parts) + "." * bool(parts)


class LastLines(logging.Handler):
    """A log handler that keeps the last few lines, shortened, for the live view."""

    def __init__(self, size: int = 6) -> None:
        super().__init__()
        self._format = TextFormatter().format
        self._lines: collections.deque[str] = collections.deque(maxlen=size)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first line of the record, with the time of day; the date, and the level INFO, are omitted."""
        time, _, line = self._format(record).splitlines()[0].partition("T")[2].partition(" ")
        self._lines.append(f"{time[:8]} {line.removeprefix('INFO').lstrip()}")

    def lines(self) -> list[str]:
        """Return the lines that are kept, oldest first."""
        return [*self._lines.copy()]  # `copy` is atomic without the GIL too, and to iterate is not


@contextlib.contextmanager
def captured_log() -> Iterator[LastLines]:
    """Return a context manager that collects log lines, which would break the live view's display."""
    root = logging.getLogger()
    before, lines = root.handlers[:], LastLines()
    root.handlers[:] = [lines]
    try:
        yield lines
    finally:
        root.handlers[:] = before
