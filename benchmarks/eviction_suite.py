# SPDX-License-Identifier: Apache-2.0
"""What the taint eviction costs: many nodes and pods, and the death of a zone."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.harness import Row, budgeted, cpu_seconds_of, run_peer
from benchmarks.nodes import fill, fill_with_pods
from controller_runtime.core.host import Host
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.server_process import APIServerProcess

NODES, PODS = 5000, 50_000
BUDGETS = {"sync_peak_mib": "<= 300", "death_peak_mib": "<= 300"}


def eviction(host: Host) -> list[Row]:
    """The process's CPU, time and memory until it has seen all pods, and then until those of a zone are deleted."""
    with APIServerProcess(host) as server:
        client = Manager.from_kubeconfig(server.kubeconfig).client
        fill(host, client, NODES)
        fill_with_pods(host, client, PODS, NODES)

        def measure() -> Mapping[str, float]:
            before = cpu_seconds_of(server.pid)
            figures = run_peer("benchmarks.peers.eviction_ours", str(server.kubeconfig), str(NODES), str(PODS))
            return {**figures, "server_cpu_s": cpu_seconds_of(server.pid) - before}

        work = f"eviction of a zone's pods, {NODES} nodes of 7 KB, {PODS} pods of 2 KB"
        return [budgeted(work, "controller-runtime", measure, BUDGETS)]
