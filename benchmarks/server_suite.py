# SPDX-License-Identifier: Apache-2.0
"""The cost of the embedded server: start, writes, watches, lists, memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from apimachinery.host import Host
from benchmarks.harness import Figures, Row, budgeted, cpu_seconds_of, repeated, run_peer
from benchmarks.nodes import filled_server
from benchmarks.raw import memory_of
from controller_runtime.testing.server_process import APIServerProcess

CONNECTIONS, PUTS = 8, 20_000
WATCHERS, EVENTS = 500, 60
_OURS = "embedded server"


def server(host: Host, nodes: int, runs: int) -> list[Row]:
    """Measure the server, with the budget of each figure."""
    with APIServerProcess(host) as started:
        reached = (str(started.kubeconfig), str(started.pid))
        rows = [
            _row("server: start to ready", lambda: repeated(runs, lambda: _start(host)), {"cpu_s": "<= 0.5"}),
            _peer("server: lease renewal, in process", runs, ("server_put", str(PUTS)), {"per_cpu_s": ">= 10000"}),
            _peer(
                f"server: lease renewal, {CONNECTIONS} TLS connections",
                runs,
                ("server_put_tls", *reached, str(CONNECTIONS), str(PUTS)),
                {"per_s": ">= 4000"},
            ),
        ]
    with _plain() as plain:
        rows.append(_watch("plain", plain, "<= 10"))
    with APIServerProcess(host) as started:
        rows.append(_watch("TLS", (str(started.kubeconfig), str(started.pid)), "<= 25"))
    with filled_server(host, nodes) as filled:
        listing = ("server_list", str(filled.kubeconfig), str(filled.pid), str(nodes))
        budget = {"server_cpu_s": f"<= {0.3 * nodes / 10_000:g}"}
        rows.append(_peer(f"server: {nodes} nodes of 7 KB in pages of 500", runs, listing, budget))
    return rows


def _start(host: Host) -> Figures:
    before = time.perf_counter()
    with APIServerProcess(host) as started:
        ready = time.perf_counter() - before
        return {"ready_s": ready, "cpu_s": cpu_seconds_of(started.pid), "empty_mib": memory_of(started.pid)}


def _watch(form: str, reached: tuple[str, str], budget: str) -> Row:
    arguments = ("server_watch", *reached, str(WATCHERS), str(EVENTS))
    return _peer(f"server: events of 1 KB to {WATCHERS} watchers, {form}", 1, arguments, {"server_cpu_us": budget})


def _peer(work: str, runs: int, peer: tuple[str, ...], budgets: Mapping[str, str]) -> Row:
    name, *arguments = peer
    return _row(work, lambda: repeated(runs, lambda: run_peer(f"benchmarks.peers.{name}", *arguments)), budgets)


def _row(work: str, measure: Callable[[], Figures], budgets: Mapping[str, str]) -> Row:
    return budgeted(work, _OURS, measure, budgets)


@contextmanager
def _plain() -> Iterator[tuple[str, str]]:
    command = [sys.executable, "-m", "benchmarks.peers.plain_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"plain:{process.stdout.readline().strip()}", str(process.pid)
        process.stdin.close()
