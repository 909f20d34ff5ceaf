# SPDX-License-Identifier: Apache-2.0
"""An idle manager, over TLS: KUBECONFIG CONTROLLERS SECONDS."""

from __future__ import annotations

import resource
import sys
import time

from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from benchmarks.harness import report
from controller_runtime.api.resources import LEASES, NODES, PODS
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager

SETTLED = 3.0
"""Seconds in which the caches fill and the start is over."""


class Idle(Reconciler):
    """Does nothing."""

    def reconcile(self, request: Request) -> Result:
        return Result()


def main() -> None:
    """Print the cores used and the wake-ups per second, once the start is over."""
    kubeconfig, controllers, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    host = SystemHost()
    manager = Manager(host, HTTPTransport(host, from_kubeconfig(kubeconfig)))
    for number in range(controllers):
        manager.add(Controller(f"idle-{number}", Idle()).watch((NODES, PODS, LEASES)[number % 3]))
    stop = Stop(host)
    thread = spawn(host, stop, "manager", lambda: manager.run(stop))
    stop.wait(SETTLED)
    cpu, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF)
    stop.wait(seconds)
    used, after = time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF)
    stop.set()
    thread.join_until(None)
    report({"cores": used / seconds, "wakeups_per_s": (after.ru_nvcsw - before.ru_nvcsw) / seconds})


if __name__ == "__main__":
    main()
