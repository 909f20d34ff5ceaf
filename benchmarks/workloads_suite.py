# SPDX-License-Identifier: Apache-2.0
"""Rollouts of three pods: in virtual time, in real time in process, and by `controllers run --embedded --workloads`."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from benchmarks.harness import Figures, PeerFailed, Row, budgeted, peak_mib_of, run_peer
from benchmarks.peers.workloads_rollout import deployment
from controller_runtime.api.builtin_resources import DEPLOYMENTS
from controller_runtime.api.readiness import ready
from controller_runtime.manager.manager import Manager

ROLLOUTS = 20
_OURS = "controller-runtime"
_READY = re.compile(r"API server is ready pid=(\d+) kubeconfig=(\S+)")
_COMMAND = [sys.executable, "-m", "controllers", "run", "--embedded", "--workloads"]


def workloads(host: Host) -> list[Row]:
    """Measure the medians of rollouts of three pods, from the creation of the deployment to its readiness."""
    return [
        budgeted(
            "rollout of 3 pods in virtual time, server and all in one process",
            _OURS,
            lambda: run_peer("benchmarks.peers.workloads_rollout", "virtual", str(ROLLOUTS)),
            {"cpu_ms": "<= 100", "peak_mib": "<= 100"},
        ),
        budgeted(
            "rollout of 3 pods in real time, server and all in one process",
            _OURS,
            lambda: run_peer("benchmarks.peers.workloads_rollout", "real", str(ROLLOUTS)),
            {"ready_s": "<= 0.5", "first_s": "<= 0.5", "peak_mib": "<= 100"},
        ),
        budgeted(
            "rollout of 3 pods by `controllers run --embedded --workloads`, over TLS",
            _OURS,
            lambda: _by_command(host),
            {"ready_s": "<= 0.5", "peak_mib": "<= 100"},
        ),
    ]


@attrs.frozen
class _Running:
    """The command: the ids of its process and of its server's, and the kubeconfig."""

    pid: int
    server: int
    kubeconfig: Path


@contextmanager
def _command() -> Iterator[_Running]:
    with subprocess.Popen(_COMMAND, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if found := _READY.search(line):
                    yield _Running(process.pid, int(found[1]), Path(found[2]))
                    return
            raise PeerFailed("the command ended before its server was ready")
        finally:
            process.terminate()
            process.communicate()


def _by_command(host: Host) -> Figures:
    pause = Stop(host, "pause").wait
    with _command() as running:
        client = Manager.from_kubeconfig(running.kubeconfig).client

        def roll_out(name: str) -> float:
            began = time.perf_counter()
            client.create(DEPLOYMENTS, deployment(name))
            while not ready(client.get(DEPLOYMENTS, ObjectKey(name, "default"), dict)):
                pause(0.02)
            return time.perf_counter() - began

        pause(5.0)  # the three nodes are registered one after the other
        first, *times = [roll_out(f"web-{number}") for number in range(ROLLOUTS + 1)]
        return {
            "ready_s": sorted(times)[len(times) // 2],
            "first_s": first,
            "peak_mib": peak_mib_of(running.pid),
            "server_peak_mib": peak_mib_of(running.server),
        }
