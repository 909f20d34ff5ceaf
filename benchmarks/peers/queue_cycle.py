# SPDX-License-Identifier: Apache-2.0
"""Cycles of add, get, forget, done through a queue that holds DEPTH other keys: CYCLES DEPTH."""

from __future__ import annotations

import sys
import time

from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from benchmarks.harness import report
from controller_runtime.controller.reconciler import Request
from controller_runtime.queue.rate_limiters import ItemExponential
from controller_runtime.queue.workqueue import WorkQueue


def main() -> None:
    """Print the microseconds of CPU of one cycle, as the median of five rounds."""
    cycles, depth = int(sys.argv[1]), int(sys.argv[2])
    host = SystemHost()
    queue = WorkQueue[Request](host, name="bench", limiter=ItemExponential())
    for index in range(depth):
        queue.add_after(ObjectKey(f"waiting-{index}", "default"), 3600.0)
    requests = [ObjectKey(f"node-{index}") for index in range(cycles)]
    rounds = []
    for _ in range(5):
        started = time.process_time()
        for request in requests:
            queue.add(request)
            item = queue.get()
            queue.forget(item)
            queue.done(item)
        rounds.append((time.process_time() - started) / cycles * 1e6)
    report({"cpu_us": sorted(rounds)[2]})


if __name__ == "__main__":
    main()
