# SPDX-License-Identifier: Apache-2.0
"""The cost of the control path: reconciles, latency, an idle manager, failover."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.host import Host
from benchmarks.harness import Figures, Row, budgeted, repeated, run_peer
from controller_runtime.testing.server_process import APIServerProcess

REQUESTS = 60_000
EVENTS = 300
BUSY_BY_DEFAULT = (str(EVENTS), "1", "default")
_OURS = "controller-runtime"


def manager(host: Host, runs: int) -> list[Row]:
    """Measure the control path, with the budget of each figure."""
    return [
        _row("no-op reconciles, 1 worker", runs, {"per_s": ">= 100000"}, "manager_reconciles", str(REQUESTS), "1"),
        _row("no-op reconciles, 2 workers", runs, {}, "manager_reconciles", str(REQUESTS), "2"),
        _row("no-op reconciles, 4 workers", runs, {"per_s": ">= 60000"}, "manager_reconciles", str(REQUESTS), "4"),
        _row("write to reconcile, in process", runs, {"median_ms": "<= 0.2"}, "manager_latency", str(EVENTS), "0"),
        _row("write to reconcile, one busy thread", runs, {"p99_ms": "<= 50"}, "manager_latency", str(EVENTS), "1"),
        _row("write to reconcile, one busy thread, Python's turns", runs, {}, "manager_latency", *BUSY_BY_DEFAULT),
        *(
            _row(f"guards and recorder, reconciles that {work}", runs, {"pace": budget}, "manager_recorded", *arguments)
            for work, budget, arguments in (
                ("do nothing", ">= 0.94", ("noop", "150", "300")),
                ("read an object", ">= 0.6", ("read", "120", "200")),
                ("write an object", ">= 0.8", ("write", "60", "30")),
            )
        ),
        _idle(host),
        _failover(host, 1, "SIGKILL", {"s": "<= 17"}),
        _failover(host, runs, "SIGTERM", {"s": "<= 2"}),
    ]


def _row(work: str, runs: int, budgets: dict[str, str], peer: str, *arguments: str) -> Row:
    return budgeted(work, _OURS, lambda: repeated(runs, _running(peer, *arguments)), budgets)


def _running(peer: str, *arguments: str) -> Callable[[], Figures]:
    return lambda: run_peer(f"benchmarks.peers.{peer}", *arguments)


def _idle(host: Host) -> Row:
    """Measure a manager over TLS whose watches bring no events."""
    with APIServerProcess(host) as server:
        peer = _running("manager_idle", str(server.kubeconfig), "10", "30")
        return budgeted("idle manager, 10 controllers", _OURS, peer, {"cores": "<= 0.002"})


def _failover(host: Host, runs: int, how: str, budgets: dict[str, str]) -> Row:
    """Measure a takeover with the default durations (15, 10 and 2 s).

    The result varies between runs with the time of the other replica's last look at the lease.
    """

    def measure() -> Figures:
        with APIServerProcess(host) as server:
            return run_peer("benchmarks.peers.failover", str(server.kubeconfig), how)

    return budgeted(f"failover, leader ended by {how}", _OURS, lambda: repeated(runs, measure), budgets)
