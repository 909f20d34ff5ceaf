# SPDX-License-Identifier: Apache-2.0
"""Renewals of one lease by a `LeaseHeartbeat`, over TLS, without the waits between them: KUBECONFIG COUNT."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks.harness import report
from controller_runtime.manager.manager import Manager
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat


def main() -> None:
    """Renew COUNT times after a warm-up, and print the microseconds of one renewal."""
    manager, count = Manager.from_kubeconfig(Path(sys.argv[1])), int(sys.argv[2])
    heartbeat = LeaseHeartbeat(
        manager.host,
        manager.client,
        holder_identity=manager.host.uuid(),
        lease_namespace="default",
        lease_duration_seconds=40,
        renew_interval=10.0,
    )
    for _ in range(50):
        heartbeat.reconcile(heartbeat.key)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        heartbeat.reconcile(heartbeat.key)
    cpu_us, wall_us = (time.process_time() - cpu) / count * 1e6, (time.perf_counter() - wall) / count * 1e6
    report({"cpu_us": cpu_us, "wall_us": wall_us})


if __name__ == "__main__":
    main()
