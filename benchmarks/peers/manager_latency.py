# SPDX-License-Identifier: Apache-2.0
"""The time from a write to an embedded server in this process to the start of the reconcile it causes: EVENTS BUSY.

Threads take turns as in a program, or as often as Python lets them by default: a further argument, `default`.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext

import attrs

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from benchmarks.harness import report
from controller_runtime.api.resources import NODES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.program.switching import short_switches
from controller_runtime.testing import EmbeddedCluster, a_node

PAUSE = 0.002
"""Seconds between two events, so that all threads are asleep when an event arrives."""


@attrs.frozen
class Noting(Reconciler):
    """Notes when each reconcile begins."""

    began: list[float]

    def reconcile(self, request: Request) -> Result:
        self.began.append(time.perf_counter())
        return Result()


def measure(host: Host, events: int) -> list[float]:
    """Return the milliseconds between write and reconcile, ascending."""
    began, never, waits = list[float](), Stop(host), list[float]()
    with EmbeddedCluster(host) as cluster:
        cluster.manager.add(Controller("noting", Noting(began)).watch(NODES))
        cluster.user.create(NODES, a_node("a"))
        cluster.start()
        while not began:
            never.wait(0.01)
        for number in range(events):
            never.wait(PAUSE)
            seen = len(began)
            cluster.user.patch(NODES, ObjectKey("a"), {"metadata": {"annotations": {"n": str(number)}}})
            written = time.perf_counter()
            while len(began) == seen:
                never.wait(PAUSE)
            waits.append(max(0.0, began[seen] - written) * 1e3)
    return sorted(waits)


def main() -> None:
    """Print the median and the 99th percentile; with BUSY, beside a thread that never waits."""
    events, is_busy = int(sys.argv[1]), bool(int(sys.argv[2]))
    host = SystemHost()
    stop = Stop(host)

    def work() -> None:
        while not stop.is_set():
            sum(range(1000))

    busy = [spawn(host, stop, "busy", work)] if is_busy else []
    with nullcontext() if "default" in sys.argv[3:] else short_switches():
        waits = measure(host, events)
    stop.set()
    for thread in busy:
        thread.join_until(None)
    report({"median_ms": waits[len(waits) // 2], "p99_ms": waits[len(waits) * 99 // 100]})


if __name__ == "__main__":
    main()
