# SPDX-License-Identifier: Apache-2.0
"""A manager with one controller from the start of the process until it idles, imports included: KUBECONFIG."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager

SETTLED = 2.0
"""Seconds in which the cache fills and the start is over."""


class Idle(Reconciler):
    """Does nothing."""

    def reconcile(self, request: Request) -> Result:
        return Result()


def main() -> None:
    """Print the CPU seconds of the whole process, and its peak memory."""
    manager = Manager.from_kubeconfig(Path(sys.argv[1]))
    manager.add(Controller("idle", Idle()).watch(LEASES))
    stop = Stop(manager.host)
    thread = spawn(manager.host, stop, "manager", lambda: manager.run(stop))
    stop.wait(SETTLED)
    cpu, status = time.process_time(), Path("/proc/self/status").read_text()
    stop.set()
    thread.join_until(None)

    from benchmarks.harness import report  # after the measurement, which its imports are no part of

    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    report({"cpu_s": cpu, "peak_mib": int(peak.split()[1]) / 1024})


if __name__ == "__main__":
    main()
