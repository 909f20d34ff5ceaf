# SPDX-License-Identifier: Apache-2.0
"""One replica of a ring by uid, which keeps its share of the nodes: KUBECONFIG MEMBERS shards|whole.

It prints its figures once it has had its share for a while, and again if it then follows another assignment, until it
is killed. With `whole` it asks for all objects, as if the server did not know shards.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from benchmarks.harness import report
from controller_runtime.api.resources import NODES
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.client.transport import Stream
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.slots import SLOTS, count

STEADY = 8
"""Seconds for which the share must not change."""
PATIENCE = 400.0
"""Seconds within which it must be had."""


class Metered(HTTPTransport):
    """Counts the bytes of lists of nodes, and leaves out the shard selector if told so."""

    received = 0
    shards = True

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """Make a request."""
        answer = super().request(self._sent(request), deadline)
        if request.path == "/api/v1/nodes":
            self.received += len(answer.body)
        return answer

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """Open a watch."""
        return super().stream(self._sent(request), deadline)

    def _sent(self, request: HTTPRequest) -> HTTPRequest:
        if self.shards:
            return request
        return request._replace(query=tuple(pair for pair in request.query if pair[0] != "shardSelector"))


class Idle(Reconciler):
    """Does nothing, for each request."""

    def reconcile(self, request: Request) -> Result:
        """Do nothing."""
        return Result()


def main() -> None:
    """Take part, and print the figures."""
    members, host = int(sys.argv[2]), SystemHost()
    transport = Metered(host, from_kubeconfig(sys.argv[1]))
    transport.shards = sys.argv[3] == "shards"
    manager, stop = Manager(host, transport), Stop(host)
    ring = manager.ring("benchmark", RingBy.UID)
    ring.divide(NODES)
    nodes = manager.lister(NODES, dict)
    manager.add(Controller("idle", ring.shared(Idle())).watch(NODES).receive(ring.requests(nodes)))
    spawn(host, stop, "manager", lambda: manager.run(stop, signals=False))
    until, steady, before, told = host.monotonic() + PATIENCE, 0, (0, 0, 0), 0
    while not stop.wait(1.0) and host.monotonic() < until:
        now = ring.member.epoch, ring.ownership.owned, len(nodes)
        is_whole = abs(count(now[1]) - SLOTS / members) < 1 and now[2] > 0
        steady, before = (steady + 1 if now == before and is_whole else 0), now
        if steady >= STEADY and now[0] != told:
            told = now[0]
            _tell(transport, epoch=told, objects=now[2])
    if not told:
        raise SystemExit(f"no share after {PATIENCE:.0f} s: {stop.failure or ring.member.last_error}")


def _tell(transport: Metered, *, epoch: int, objects: int) -> None:
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    rss, peak = (next(int(line.split()[1]) / 1024 for line in lines if line.startswith(n)) for n in ("VmRSS", "VmHWM"))
    mib = transport.received / 2**20
    report({"epoch": epoch, "objects": objects, "rss_mib": rss, "peak_mib": peak, "received_mib": mib})
    sys.stdout.flush()


if __name__ == "__main__":
    main()
