# SPDX-License-Identifier: Apache-2.0
"""Rollouts of a deployment of three pods on an embedded cluster with workloads: `virtual` or `real`, and how many."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable

from apimachinery.host import Host
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from benchmarks.harness import peak_mib_of, report
from controller_runtime import ObjectKey
from controller_runtime.conditions import ready
from controller_runtime.resources import DEPLOYMENTS
from controller_runtime.testing import EmbeddedCluster, Simulation

REPLICAS = 3


def deployment(name: str) -> dict[str, object]:
    """Return the deployment to roll out."""
    pods = {"containers": [{"name": "main", "image": "web:1"}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": pods}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": REPLICAS, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def roll_out(cluster: EmbeddedCluster, name: str, wait: Callable[[float], object]) -> tuple[float, float]:
    """Create a deployment and wait until it is ready; return the wall and the CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    cluster.user.create(DEPLOYMENTS, deployment(name))
    while not ready(cluster.user.get(DEPLOYMENTS, ObjectKey(name, "default"), dict)):
        wait(0.02)
        if time.perf_counter() - wall > 60:
            raise SystemExit(f"{name} does not become ready")
    return time.perf_counter() - wall, time.process_time() - cpu


def measured(host: Host, wait: Callable[[float], object], count: int) -> dict[str, float]:
    """Return the medians of `count` rollouts, and the peak of this process, which has the server as well."""
    with EmbeddedCluster(host, workloads=True) as cluster:
        cluster.start()
        wait(0.5)
        first, *times = [roll_out(cluster, f"web-{number}", wait) for number in range(count + 1)]
    gc.collect()
    wall, cpu = (statistics.median(each) for each in zip(*times, strict=True))
    return {"ready_s": wall, "first_s": first[0], "cpu_ms": cpu * 1000, "peak_mib": peak_mib_of("self")}


def main() -> None:
    """Measure and report."""
    count = int(sys.argv[2])
    if sys.argv[1] == "virtual":
        with Simulation(1) as simulation:
            report(measured(simulation.host("here"), simulation.advance, count))
        return
    host = SystemHost()
    report(measured(host, Stop(host, "pause").wait, count))


if __name__ == "__main__":
    main()
