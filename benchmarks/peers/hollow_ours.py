# SPDX-License-Identifier: Apache-2.0
"""Hollow nodes that have registered and renew their leases, over TLS: KUBECONFIG COUNT SECONDS."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from apimachinery.stop import Stop, spawn
from benchmarks.harness import report
from controller_runtime.api.resources import NODES
from controller_runtime.manager.manager import Manager
from controllers.heartbeat.node_lease import RENEW_INTERVAL
from controllers.hollow.nodes import HollowNodes


def main() -> None:
    """Register COUNT nodes; print the process's share of a core over SECONDS of renewals, and its memory."""
    manager, count, seconds = Manager.from_kubeconfig(Path(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3])
    stop = Stop(manager.host)
    manager.add(HollowNodes(manager.host, manager.client, count, nodes=manager.informer(NODES)))
    thread = spawn(manager.host, stop, "manager", lambda: manager.run(stop))

    def done(method: str) -> int:
        answers = manager.transport.counters().answers
        return sum(n for (code, verb), n in answers.items() if verb == method and code.startswith("2"))

    while done("POST") < 2 * count and not stop.wait(1.0):  # a Node and a Lease each
        pass
    stop.wait(RENEW_INTERVAL)
    renewals, wall, cpu = done("PUT"), time.perf_counter(), time.process_time()
    stop.wait(seconds)
    elapsed, used, renewed = time.perf_counter() - wall, time.process_time() - cpu, done("PUT") - renewals
    stop.set()
    thread.join_until(None)
    report(
        {
            "cores": used / elapsed,
            "renewals_per_s": renewed / elapsed,
            "cpu_us_per_renewal": used / renewed * 1e6,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    )


if __name__ == "__main__":
    main()
