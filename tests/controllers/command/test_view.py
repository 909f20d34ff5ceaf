# SPDX-License-Identifier: Apache-2.0
"""The live view and the log lines of a run."""

from __future__ import annotations

import io
import logging

import pytest
from rich.console import Console

from controller_runtime.core.stop import Stop
from controller_runtime.testing.simulation import Simulation
from controllers.command.snapshot import ControllerStatus, LeaseSummary, Snapshot
from controllers.command.snapshot_counters import NodeCounts, PodCounts
from controllers.command.view import LastLines, LiveView, render, summary


def shown(before: Snapshot, now: Snapshot) -> str:
    out = io.StringIO()
    Console(file=out, width=80, force_terminal=False).print(render("embedded API server", before, now))
    return out.getvalue()


def on_a_terminal(sim: Simulation, snapshot: Snapshot, lines: list[str]) -> str:
    """Return what the view leaves on a terminal of 80 columns and 24 rows."""
    out, stop = io.StringIO(), Stop(sim.host("terminal"))
    stop.set()
    console = Console(file=out, width=80, height=24, force_terminal=False)
    LiveView(lambda: snapshot, lambda: lines, title="embedded API server", console=console).run(stop)
    return out.getvalue()


def at(seconds: float, reconciles: int) -> Snapshot:
    nodes = NodeCounts(120, {"True": 119, "Unknown": 1}, {"15": 118, "0": 2})
    leases = LeaseSummary(118, 3, 12.4, {"controllers": "host-a_1", "sched": "host-b_2"})
    events = ("Normal NodeReady node/hollow-00001: it is ready",)
    return Snapshot(seconds, (ControllerStatus("node-ttl", reconciles, 1, 7),), nodes, leases, events)


def row(text: str, word: str) -> list[str]:
    line = next(line for line in text.splitlines() if word in line)
    return [part for part in line.split() if part.isdigit()]


@pytest.fixture
def text() -> str:
    return shown(at(10.0, 100), at(10.5, 150))


def test_the_live_view_shows_nodes_leases_and_advice(text: str) -> None:
    assert row(text, "0 (2), 15 (118)") == ["120", "119", "1", "118", "3", "12", "0", "15"]


def test_the_live_view_shows_the_zones_and_the_pods() -> None:
    zones = {"zone-a": (38, 2), "zone-b": (10, 30), "zone-c": (0, 40)}
    now = Snapshot(1.0, nodes=NodeCounts(120, {"True": 48, "Unknown": 72}, {}, 3, zones), pods=PodCounts(240, 100, 20))

    text = shown(now, now)

    assert "zones  zone-a 38/40, zone-b PartialDisruption 10/40, zone-c FullDisruption" in text
    assert "nodes  72 Unknown, 3 tainted NoExecute" in text
    assert "pods  240, of them ready 100, going 20" in text
    assert summary(now) | {"nodes": 0} == {
        "nodes": 0, "ready": 48, "unknown": 72, "evicting": 3,
        "zone_zone-b": "PartialDisruption", "zone_zone-c": "FullDisruption",
        "pods": 240, "pods_ready": 100, "pods_going": 20,
    }  # fmt: skip


def test_the_live_view_shows_the_pace_of_each_controller(text: str) -> None:
    assert row(text, "node-ttl") == ["7", "150", "100", "1"]


def test_the_live_view_shows_who_leads_and_the_last_events(text: str) -> None:
    assert "controllers: host-a_1, sched: host-b_2" in text
    assert "NodeReady node/hollow-00001" in text


def test_the_live_view_is_readable_at_80_columns(sim: Simulation) -> None:
    text = on_a_terminal(sim, at(10.0, 100), ["x" * 300])

    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" in text


def test_the_live_view_is_lower_than_the_terminal_and_has_room_for_the_last_lines(sim: Simulation) -> None:
    text = on_a_terminal(sim, at(10.0, 100), [f"line {number}" for number in range(30)])

    assert len(text.splitlines()) < 24
    assert "line 29" in text


def test_on_a_cluster_the_live_view_shows_the_controllers_alone() -> None:
    bare = Snapshot(1.0, (ControllerStatus("node-ttl", 1, 0, 0),))

    text = shown(bare, bare)

    assert "node-ttl" in text
    assert "silent" not in text


def test_a_plain_line_tells_what_can_change() -> None:
    fields = summary(
        Snapshot(0.0, (ControllerStatus("c", 5, 2, 0),), NodeCounts(3, {"True": 1}, {"": 1, "15": 2}), LeaseSummary(1))
    )

    assert fields == {"nodes": 3, "ready": 1, "ttl_unset": 1, "ttl_15": 2, "leases": 1, "silent": 0, "c_errors": 2}


def test_the_last_lines_are_kept_without_their_dates_and_tracebacks() -> None:
    kept = LastLines(size=2)

    for number in range(3):
        kept.emit(logging.LogRecord("x", logging.INFO, "", 0, f"line {number}\nmore", None, None))

    assert [line.rpartition(" line ")[2] for line in kept.lines()] == ["1", "2"]
    assert all(line[8:] == f" line {number}" for number, line in enumerate(kept.lines(), 1))
