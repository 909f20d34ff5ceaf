# SPDX-License-Identifier: Apache-2.0
"""A record of facts that change, to be drawn as a timeline: leaders, states of zones, slots of a ring, numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.plain_functions import synchronous
from controller_runtime.program.snapshot import Snapshot
from controller_runtime.program.timeline_svg import drawn
from controller_runtime.program.view import summary

MOST_CHANGES = 5000
"""The most changes of one lane that are kept. Later ones are not drawn, and the picture says so."""

MOST_LANES = 60
"""The most lanes that are kept."""

Fact: TypeAlias = "str | int | float | bool | None"


@attrs.frozen
class Lane:
    """One named value over time.

    Attributes:
        name: The name of the fact.
        changes: The time in seconds of each new value. A value holds until the next one; None is no value.
    """

    name: str
    changes: list[tuple[float, Fact]] = attrs.field(factory=list)

    @property
    def is_number(self) -> bool:
        """Whether all values are numbers, which are drawn as a line; other values are drawn as bars with text."""
        values = [value for _, value in self.changes if value is not None]
        return bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


class Timeline:
    """Records named values, such as the number of leaders, over time, and draws them.

    Args:
        host: The source of the time; the first record is at zero.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        self._clock = host
        # Guards the fields below.
        self._lock = host.lock("timeline")
        self._began: float | None = None
        self._end = 0.0
        self._lanes: dict[str, Lane] = {}
        self._marks: list[tuple[float, str]] = []
        self._last_events: tuple[str, ...] = ()
        self._left_out = 0

    def note(self, facts: Mapping[str, object]) -> None:
        """Record new values by name; other names keep their last value. None means no value."""
        now = self._clock.monotonic()
        with self._lock:
            self._note(facts, self._at(now))

    def note_all(self, facts: Mapping[str, object]) -> None:
        """Record new values by name; all other names have no value from now on."""
        now = self._clock.monotonic()
        with self._lock:
            self._note({**dict.fromkeys(self._lanes), **facts}, self._at(now))

    def mark(self, text: str) -> None:
        """Record that an event happened now; `text` describes it."""
        now = self._clock.monotonic()
        with self._lock:
            at = self._at(now)
            if len(self._marks) < MOST_CHANGES:
                self._marks.append((at, text))
            else:
                self._left_out += 1

    def noting(self, take: Callable[[], Snapshot]) -> Callable[[], Snapshot]:
        """Return a function that calls `take`, and records the summary of the snapshot and each new event."""
        taken = synchronous("noting", take)

        def noted() -> Snapshot:
            snapshot = taken()
            self.note_all(summary(snapshot))
            for line in _new(self._last_events, snapshot.events):
                self.mark(line)
            self._last_events = snapshot.events
            return snapshot

        return noted

    def svg(self, title: str) -> str:
        """Return the picture up to the current time, as SVG."""
        now = self._clock.monotonic()
        with self._lock:
            end = max(self._at(now), 1e-3)
            lanes = [lane for lane in self._lanes.values() if any(value is not None for _, value in lane.changes)]
            shown = [(lane.name.replace("_", " "), lane.is_number, [*lane.changes]) for lane in lanes]
            marks, left_out = [*self._marks], self._left_out
        return drawn(title, shown, marks, end, f"{left_out} changes are not drawn" if left_out else "")

    def write(self, path: Path, title: str) -> None:
        """Write the picture to an SVG file.

        Args:
            path: The file, which is overwritten.
            title: The heading of the picture.

        Raises:
            UsageError: The file cannot be written.
        """
        try:
            path.write_text(self.svg(title), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write the timeline to {path}: {error.strerror or error}") from error

    # All below with the lock held.

    def _at(self, now: float) -> float:
        """Return the seconds since the first note; they never go back, though a note may wait for the lock."""
        if self._began is None:
            self._began = now
        self._end = max(self._end, now - self._began)
        return self._end

    def _note(self, facts: Mapping[str, object], at: float) -> None:
        for name, value in facts.items():
            self._change(name, at, value if value is None or isinstance(value, int | float) else str(value))

    def _change(self, name: str, at: float, value: Fact) -> None:
        if name not in self._lanes and len(self._lanes) >= MOST_LANES:
            self._left_out += 1
            return
        changes = self._lanes.setdefault(name, Lane(name)).changes
        if changes and changes[-1][1] == value:
            return
        if len(changes) < MOST_CHANGES:
            changes.append((at, value))
        else:
            self._left_out += 1


def _new(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines of a tail that have come since it was seen last: those after the longest overlap."""
    for size in range(min(len(before), len(now)), 0, -1):
        if before[-size:] == now[:size]:
            return now[size:]
    return now
