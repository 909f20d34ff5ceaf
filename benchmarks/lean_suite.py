# SPDX-License-Identifier: Apache-2.0
"""The memory of large collections in our caches, compressed and not, beside lists that other clients keep."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.harness import Figures, Row, budgeted, run_peer

WORKS: tuple[tuple[str, int, str, int, Mapping[str, str]], ...] = (
    ("made", 100_000, "off", 0, {}),
    ("made", 100_000, "on", 0, {"mib": "<= 120", "peak_mib": "<= 155"}),
    ("recorded", 100_000, "on", 0, {}),
    ("secrets", 33_493, "on", 0, {}),
    ("secrets-read", 33_493, "on", 0, {"mib": "<= 60"}),
    ("nodes", 1_000_000, "on", 0, {"mib": "<= 1000", "fill_cpu_s": "<= 30"}),
    ("made", 20_000, "on", 50, {"changed_to_fresh": "<= 1.15"}),
)
"""Objects, their number, compression, changes of each, and budgets: see `benchmarks.peers.lean_ours`."""
PEERS: tuple[tuple[str, int], ...] = (("lightkube", 100_000), ("kr8s", 20_000))
"""Other clients, and how many of the same pods each lists. 2,000 took kr8s 250 MiB, so 100,000 would take 12 GiB."""
TIMEOUT = 1_800.0
"""Seconds of wall time for one run."""


def lean() -> list[Row]:
    """Measure each work once: memory hardly differs from run to run."""
    return [_measured(*work) for work in WORKS] + [_listed(*peer) for peer in PEERS]


def _listed(who: str, count: int) -> Row:
    def measure() -> Figures:
        return run_peer("benchmarks.peers.lean_list", who, str(count), timeout=TIMEOUT)

    return budgeted(f"cache of {count} made", f"{who} (list only)", measure, {})


def _measured(what: str, count: int, compress: str, changes: int, budgets: Mapping[str, str]) -> Row:
    def measure() -> Figures:
        arguments = (what, str(count), compress, str(changes))
        figures = run_peer("benchmarks.peers.lean_ours", *arguments, timeout=TIMEOUT)
        if changes:
            figures["changed_to_fresh"] = figures["changed_mib"] / figures["mib"]
        return figures

    changed = f", each changed {changes} times" if changes else ""
    who = "controller-runtime, lean" if compress == "on" else "controller-runtime, not compressed"
    return budgeted(f"cache of {count} {what}{changed}", who, measure, budgets)
