# SPDX-License-Identifier: Apache-2.0
"""The cost of an idle node agent: the command as a process, on a server in another process."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from apimachinery.host import Host
from apimachinery.stop import Stop
from benchmarks.harness import Figures, PeerFailed, Row
from controller_runtime.testing.server_process import APIServerProcess

SETTLING = 15.0
"""Seconds in which the agent registers its node, reports its status and creates its lease."""
SECONDS = 180.0
"""Seconds that are measured: 18 renewals of the lease."""
NOTE = "budget 0.1 % of a core, 60 MiB"


def agent(host: Host) -> Row:
    """Measure the CPU and the memory of an idle agent's process, over TLS, for three minutes."""
    try:
        figures = _measured(host)
    except PeerFailed as error:
        return Row("a node's agent at rest", "controller-runtime", {}, f"not measured: {error}")
    return Row("a node's agent at rest", "controller-runtime", figures, NOTE)


def _measured(host: Host) -> Figures:
    stop = Stop(host)
    with APIServerProcess(host) as server:
        command = [sys.executable, "-m", "controllers", "agent", "--node-name", "measured"]
        process = subprocess.Popen([*command, f"--kubeconfig={server.kubeconfig}"], stderr=subprocess.DEVNULL)
        try:
            stop.wait(SETTLING)
            wall, cpu = time.perf_counter(), _of(process.pid, _cpu_seconds)
            stop.wait(SECONDS)
            elapsed, used = time.perf_counter() - wall, _of(process.pid, _cpu_seconds) - cpu
            peak = _of(process.pid, _peak_mib)
        finally:
            process.terminate()
            process.wait()
    return {"percent_of_a_core": 100 * used / elapsed, "peak_mib": peak}


def _of(pid: int, figure: Callable[[Path], float]) -> float:
    try:
        return figure(Path(f"/proc/{pid}"))
    except (OSError, IndexError) as error:
        raise PeerFailed("the agent ended") from error


def _cpu_seconds(process: Path) -> float:
    """Return the user and system CPU seconds of all its threads; `stat` would have them in ticks of 10 ms only."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in (process / "task").iterdir()) / 1e9


def _peak_mib(process: Path) -> float:
    return int(re.findall(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())[0]) / 1024
