# SPDX-License-Identifier: Apache-2.0
"""One replica of a ring by name: KUBECONFIG work|own|write RING. It prints a line a second, or at each change of slots.

`work` reconciles its nodes again and again, and prints reconciles and CPU seconds so far. `own` prints which slots it
owns since when; the monotonic clock is that of the machine. `write` patches each new node once, and prints as `work`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import attrs

from apimachinery.objects import annotations_of
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from benchmarks.harness import report
from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.signals import stop_on_signals
from controller_runtime.manager.manager import Manager
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.ownership import Ownership
from controller_runtime.ring.records import Assignment
from controller_runtime.ring.slots import ALL


@attrs.frozen
class Worker(Reconciler):
    """Reads a node, and either writes it once or reads it again and again."""

    nodes: Lister[dict[str, Any]]
    client: Client
    writes: bool

    def reconcile(self, request: Request) -> Result:
        """Do the work of one node."""
        node = self.nodes.get(request)
        if node is None or not self.writes:
            return Result() if node is None else Result(requeue_after=0.0)
        if "done" not in annotations_of(node):
            self.client.patch(NODES, request, {"metadata": {"annotations": {"done": "yes"}}})
        return Result()


def main() -> None:
    """Take part until a signal."""
    host, mode = SystemHost(), sys.argv[2]
    stop = Stop(host)
    manager = Manager(host, HTTPTransport(host, from_kubeconfig(sys.argv[1])))
    ring = manager.ring(sys.argv[3], RingBy.NAME)
    nodes = manager.lister(NODES, dict[str, Any])
    worker = Worker(nodes, manager.client, writes=mode == "write")
    controller = Controller("worker", worker if mode == "own" else ring.shared(worker)).watch(NODES)
    if mode != "own":
        manager.add(controller.receive(ring.requests(nodes)))
    if mode == "own":
        note_changes(host)
    with stop_on_signals(host, stop):
        thread = spawn(host, stop, "manager", lambda: manager.run(stop, signals=False))
        while not thread.join_until(host.monotonic() + 1.0):
            if mode != "own":
                counters = controller.counters()
                wait = 0.0 if counters is None else percentile(counters[1].queue_duration, 0.99)
                figures = {"reconciles": controller.reconciles, "cpu_s": time.process_time(), "queue_p99_s": wait}
                report({"at": host.monotonic(), "slots": ring.ownership.owned.bit_count(), **figures})


def note_changes(host: SystemHost) -> None:
    """Print each change of the owned slots: before slots that come are owned, and after others are not any more."""
    own, drain, end_all = Ownership.own, Ownership.drain, Ownership.end_all

    def write(owned: int) -> None:
        sys.stdout.write(f"{host.monotonic()} {owned:x}\n")
        sys.stdout.flush()

    def noted_own(self: Ownership, slots: int, ring: Assignment | None, given: int = ALL) -> int:
        if slots != self.owned:
            write(slots)
        return own(self, slots, ring, given)

    def noted_drain(self: Ownership, slots: int) -> None:
        drain(self, slots)
        write(self.owned)

    def noted_end_all(self: Ownership, why: str) -> int:
        kept = end_all(self, why)
        write(0)
        return kept

    Ownership.own, Ownership.drain, Ownership.end_all = noted_own, noted_drain, noted_end_all  # type: ignore[method-assign]


def percentile(histogram: Any, share: float) -> float:
    """Return the upper bound of the bucket in which a percentile is; infinite for the last one."""
    reached = histogram.cumulative()
    for bound, count in zip((*histogram.bounds, float("inf")), reached, strict=True):
        if count >= share * reached[-1]:
            return float(bound)
    return 0.0


if __name__ == "__main__":
    main()
