# SPDX-License-Identifier: Apache-2.0
"""The node lifecycle controller in a large cluster, beside its budgets."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import Row, budgeted, run_peer
from benchmarks.nodes import fill_with_pods
from controller_runtime.core.host import Host
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.server_process import APIServerProcess

NODES = 5000
PODS = 50_000
SECONDS = 30
BUDGETS = {"quiet_cores": "<= 0.1", "last_marked_after_grace_s": "<= 5", "peak_mib": "<= 300"}


@contextmanager
def _hollow_nodes(kubeconfig: Path, count: int, control: Path) -> Iterator[None]:
    """Hollow nodes in a process of their own."""
    command = ["-m", "controllers", "hollow-nodes", f"--count={count}", f"--kubeconfig={kubeconfig}"]
    arguments = [sys.executable, *command, f"--control={control}"]
    with subprocess.Popen(arguments, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def lifecycle(host: Host, nodes: int = NODES, pods: int = PODS) -> list[Row]:
    """Nodes that renew every 10 s with pods on them, and the death of a tenth of the nodes at once."""
    with tempfile.TemporaryDirectory() as folder, APIServerProcess(host) as server:
        control = Path(folder) / "control"
        with _hollow_nodes(server.kubeconfig, nodes, control):
            fill_with_pods(host, Manager.from_kubeconfig(server.kubeconfig).client, pods, nodes)

            def measure() -> Mapping[str, float]:
                arguments = (str(server.kubeconfig), str(nodes), str(pods), str(SECONDS), str(control))
                return run_peer("benchmarks.peers.lifecycle_ours", *arguments)

            work = f"node lifecycle, {nodes} nodes at 10 s, {pods} pods"
            return [budgeted(work, "controller-runtime", measure, BUDGETS)]
