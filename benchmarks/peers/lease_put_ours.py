# SPDX-License-Identifier: Apache-2.0
"""Renewals of one lease with our client, over TLS: KUBECONFIG COUNT."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from apimachinery.objects import microtime
from benchmarks.harness import report
from controller_runtime.api.resources import LEASES
from controller_runtime.manager.manager import Manager


def main() -> None:
    """Renew COUNT times after a warm-up, and print the microseconds of one renewal."""
    manager, count = Manager.from_kubeconfig(Path(sys.argv[1])), int(sys.argv[2])
    client, host = manager.client, manager.host
    spec = {"holderIdentity": "bench", "leaseDurationSeconds": 40, "renewTime": microtime(host.now())}
    written = client.create(LEASES, {"metadata": {"generateName": "ours-", "namespace": "default"}, "spec": spec})
    lease: dict[str, Any] = msgspec.json.decode(written.raw)

    def renew() -> None:
        lease["spec"]["renewTime"] = microtime(host.now())
        lease["metadata"]["resourceVersion"] = client.update(LEASES, lease).resource_version

    for _ in range(50):
        renew()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        renew()
    cpu_us, wall_us = (time.process_time() - cpu) / count * 1e6, (time.perf_counter() - wall) / count * 1e6
    report({"cpu_us": cpu_us, "wall_us": wall_us})


if __name__ == "__main__":
    main()
