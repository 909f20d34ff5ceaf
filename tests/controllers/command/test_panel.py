# SPDX-License-Identifier: Apache-2.0
"""The panel of `controllers run`: nodes, zones, leases and pods."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from controllers.command.node_tables import render
from controllers.command.panel import NodePanel, status_tables, summary
from controllers.command.snapshot import ClusterSnapshot, LeaseSummary
from controllers.command.snapshot_counters import NodeCounts, PodCounts

NODES = NodeCounts(120, {"True": 119, "Unknown": 1}, {"15": 118, "0": 2})
LEASES = LeaseSummary(118, 3, 12.4, {"controllers": "host-a_1", "sched": "host-b_2"})


def shown(snapshot: ClusterSnapshot) -> str:
    out = io.StringIO()
    Console(file=out, width=80, force_terminal=False).print(render(snapshot))
    return out.getvalue()


def row(text: str, word: str) -> list[str]:
    line = next(line for line in text.splitlines() if word in line)
    return [part for part in line.split() if part.isdigit()]


@pytest.fixture
def text() -> str:
    return shown(ClusterSnapshot(NODES, LEASES))


def test_the_panel_shows_nodes_leases_and_advice(text: str) -> None:
    assert row(text, "0 (2), 15 (118)") == ["120", "119", "1", "118", "3", "12", "0", "15"]


def test_the_panel_shows_the_zones_and_the_pods() -> None:
    zones = {"zone-a": (38, 2), "zone-b": (10, 30), "zone-c": (0, 40)}
    nodes = NodeCounts(120, {"True": 48, "Unknown": 72}, {}, 3, zones)
    now = ClusterSnapshot(nodes, pods=PodCounts(240, 100, 20))

    text = shown(now)

    assert "zones  zone-a 38/40, zone-b PartialDisruption 10/40, zone-c FullDisruption" in text
    assert "nodes  72 Unknown, 3 tainted NoExecute" in text
    assert "pods  240, of them ready 100, going 20" in text
    assert summary(now) | {"nodes": 0} == {
        "nodes": 0, "ready": 48, "unknown": 72, "evicting": 3, "leases": 0, "silent": 0,
        "zone_zone-b": "PartialDisruption", "zone_zone-c": "FullDisruption",
        "pods": 240, "pods_ready": 100, "pods_going": 20,
    }  # fmt: skip


def test_the_panel_shows_the_leaders(text: str) -> None:
    assert "controllers: host-a_1, sched: host-b_2" in text


def test_the_panel_is_readable_at_80_columns() -> None:
    text = shown(ClusterSnapshot(NODES, LeaseSummary(1, leaders={"lease": "x" * 300})))

    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" in text


def test_the_fields_of_the_panel_tell_what_can_change() -> None:
    panel = NodePanel(lambda: ClusterSnapshot(NodeCounts(3, {"True": 1}, {"": 1, "15": 2}), LeaseSummary(1)))

    assert panel.fields() == {"nodes": 3, "ready": 1, "ttl_unset": 1, "ttl_15": 2, "leases": 1, "silent": 0}


def test_the_status_page_shows_nodes_by_zone_leases_and_who_led_when() -> None:
    nodes = NodeCounts(80, {"True": 48, "Unknown": 32}, {}, 3, {"zone-a": (40, 0), "zone-c": (8, 32)})
    changes = ((5.0, "controllers", "host-b"), (65.0, "controllers", ""))
    tables = status_tables(ClusterSnapshot(nodes, LeaseSummary(80, 1, 12.4, {}, changes), PodCounts(9, 7, 2)))
    shown = {table.title: [([*row.cells], row.is_bad) for row in table.rows] for table in tables}

    assert shown["Zones"] == [
        (["zone-a", 40, 0, "Normal"], False), (["zone-c", 8, 32, "PartialDisruption"], True),
    ]  # fmt: skip
    assert shown["Nodes and pods"] == [([80, 32, 3, 9, 7, 2], True)]
    assert shown["Leases"] == [([80, 1, "12.4 s"], True)]
    assert [cells for cells, _ in shown["Leaders of the cluster"]] == [
        ["controllers", "host-b", "5 s"], ["controllers", "no replica", "1.08 min"],
    ]  # fmt: skip
    assert all(len(row.cells) == len(table.columns) for table in tables for row in table.rows)
