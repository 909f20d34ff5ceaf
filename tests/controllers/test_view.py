# SPDX-License-Identifier: Apache-2.0
"""What one sees of a run."""

from __future__ import annotations

import io
import logging

from rich.console import Console

from controllers.census import Count
from controllers.view import ControllerStatus, LastLines, Snapshot, picture, summary


def shown(before: Snapshot, now: Snapshot, lines: list[str]) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    console.print(picture("embedded API server", before, now, lines))
    return console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO, as given above


def at(seconds: float, reconciles: int) -> Snapshot:
    count = Count(120, {"True": 119, "Unknown": 1}, {"15": 118, "0": 2})
    return Snapshot(seconds, count, [ControllerStatus("node-ttl", reconciles, 1, 7)])


def test_the_live_view_shows_nodes_advice_and_the_pace_of_each_controller() -> None:
    text = shown(at(10.0, 100), at(10.5, 150), ["a log line"])

    assert "120" in text
    assert "119" in text
    assert "0 (2), 15 (118)" in text
    node_ttl = next(line for line in text.splitlines() if "node-ttl" in line)
    assert [word for word in node_ttl.split() if word.isdigit()] == ["7", "150", "100", "1"]
    assert "a log line" in text


def test_the_live_view_is_readable_at_80_columns() -> None:
    text = shown(at(10.0, 100), at(10.5, 150), ["x" * 300])

    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" in text


def test_a_snapshot_taken_twice_in_one_instant_is_no_division_by_zero() -> None:
    assert "node-ttl" in shown(at(10.0, 100), at(10.0, 100), [])


def test_a_plain_line_counts_nodes_by_their_annotation() -> None:
    assert summary(Count(3, {}, {"": 1, "15": 2})) == {"nodes": 3, "ttl_unset": 1, "ttl_15": 2}


def test_the_last_lines_are_kept_without_their_tracebacks() -> None:
    kept = LastLines(size=2)

    for number in range(3):
        kept.emit(logging.LogRecord("x", logging.INFO, "", 0, f"line {number}\nmore", None, None))

    assert [line.rpartition(" line ")[2] for line in kept.lines()] == ["1", "2"]
