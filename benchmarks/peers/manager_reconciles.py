# SPDX-License-Identifier: Apache-2.0
"""Reconciles that do nothing, through one manager: REQUESTS WORKERS [BYTES]; with BYTES each decodes such a node."""

from __future__ import annotations

import sys
import time

import attrs
import msgspec

from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from benchmarks.harness import report
from benchmarks.nodes import big_node
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.testing import EmbeddedCluster

DONE = Result()
LAST = ObjectKey("last")


@attrs.frozen
class NoOp(Reconciler):
    """Does nothing, or decodes a node; and notes the last request."""

    ended: Stop
    node: bytes = b""

    def reconcile(self, request: Request) -> Result:
        if self.node:
            msgspec.json.decode(self.node)
        if request is LAST:
            self.ended.set()
        return DONE


def main() -> None:
    """Push all requests before the start; print reconciles per second from the manager's start to the last one."""
    count, workers = int(sys.argv[1]), int(sys.argv[2])
    node = msgspec.json.encode(big_node(0, int(sys.argv[3]))) if len(sys.argv) > 3 else b""
    host = SystemHost()
    ended, channel = Stop(host), Channel(host, capacity=count + 1)
    for number in range(count):
        channel.push(ObjectKey(f"object-{number}"))
    with EmbeddedCluster(host) as cluster:
        cluster.manager.add(Controller("noop", NoOp(ended, node), workers=workers).receive(channel))
        wall, cpu = time.perf_counter(), time.process_time()
        channel.push(LAST)
        cluster.start()
        ended.wait(300.0)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    report({"per_s": count / wall, "per_cpu_s": count / cpu})


if __name__ == "__main__":
    main()
