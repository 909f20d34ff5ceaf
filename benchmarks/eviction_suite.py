# SPDX-License-Identifier: Apache-2.0
"""The cost of taint eviction when a zone of a large cluster fails."""

from __future__ import annotations

from collections.abc import Mapping

from apimachinery.host import Host
from benchmarks.harness import Row, budgeted, cpu_seconds_of, run_peer
from controller_runtime.testing.server_process import APIServerProcess

NODES, PODS = 5000, 50_000
START = 240.0
"""Seconds in which the server creates its nodes and pods."""
BUDGETS = {"sync_peak_mib": "<= 300", "death_peak_mib": "<= 300"}


def eviction(host: Host) -> list[Row]:
    """Measure a process until it has seen all pods, and then until the pods of a zone are deleted."""
    filled = ("benchmarks.peers.filled_server", str(NODES), str(PODS))
    with APIServerProcess(host, program=filled, start_timeout=START) as server:

        def measure() -> Mapping[str, float]:
            before = cpu_seconds_of(server.pid)
            figures = run_peer("benchmarks.peers.eviction_ours", str(server.kubeconfig), str(NODES), str(PODS))
            return {**figures, "server_cpu_s": cpu_seconds_of(server.pid) - before}

        work = f"eviction of a zone's pods, {NODES} nodes of 7 KB, {PODS} pods of 6 KB"
        return [budgeted(work, "controller-runtime", measure, BUDGETS)]
