# SPDX-License-Identifier: Apache-2.0
"""Renewals of one lease with kr8s, which writes with patches, over TLS: KUBECONFIG COUNT."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime

import kr8s
from kr8s.objects import new_class

from benchmarks.harness import report


def now() -> str:
    """Return the present time in the format of the API server."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def main() -> None:
    """Renew COUNT times after a warm-up, and print the microseconds of one renewal."""
    api, count = kr8s.api(kubeconfig=sys.argv[1]), int(sys.argv[2])
    spec = {"holderIdentity": "bench", "leaseDurationSeconds": 40, "renewTime": now()}
    metadata = {"name": f"kr8s-{os.getpid()}", "namespace": "default"}
    lease = new_class("Lease", "coordination.k8s.io/v1")({"metadata": metadata, "spec": spec}, api=api)
    lease.create()
    for _ in range(50):
        lease.patch({"spec": {"renewTime": now()}})
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        lease.patch({"spec": {"renewTime": now()}})
    cpu_us, wall_us = (time.process_time() - cpu) / count * 1e6, (time.perf_counter() - wall) / count * 1e6
    report({"cpu_us": cpu_us, "wall_us": wall_us})


if __name__ == "__main__":
    main()
