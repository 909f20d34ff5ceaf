# SPDX-License-Identifier: Apache-2.0
"""Taint eviction from its start to the deletion of the last pod of a zone that fails: KUBECONFIG NODES PODS."""

from __future__ import annotations

import sys
from pathlib import Path

from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from benchmarks.harness import metered, report
from controller_runtime.api.resources import NODES
from controller_runtime.manager.manager import Manager
from controllers.hollow.node import ZONES, node_name
from controllers.shared.cache_trims import trim_caches
from controllers.taint_eviction.taint_eviction import TaintEviction, taint_eviction

POLL_INTERVAL = 0.05
"""Seconds between two reads of the controller's counters."""
TAINT = {"key": "benchmark", "effect": "NoExecute"}


def main() -> None:
    """Wait until the controller has seen all pods; taint a zone, wait until its pods are deleted, print the figures."""
    manager, nodes, pods = Manager.from_kubeconfig(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    trim_caches(manager)
    controller, stop = taint_eviction(manager), Stop(manager.host)
    reconciler = controller.reconciler
    assert isinstance(reconciler, TaintEviction)
    manager.add(controller)
    seen, death = dict[str, float](), dict[str, float]()
    dying = [index for index in range(nodes) if index % len(ZONES) == 0]
    doomed = sum(index % nodes % len(ZONES) == 0 for index in range(pods))
    with metered(seen):
        thread = spawn(manager.host, stop, "manager", lambda: manager.run(stop))
        while controller.reconciles < pods:
            stop.wait(POLL_INTERVAL)
    with metered(death):
        for index in dying:
            manager.client.patch(NODES, ObjectKey(node_name(index)), {"spec": {"taints": [TAINT]}})
        while reconciler.countdowns.deletions().count < doomed:
            stop.wait(POLL_INTERVAL)
    stop.set()
    thread.join_until(None)
    report(
        {f"sync_{name}": value for name, value in seen.items()}
        | {f"death_{name}": value for name, value in death.items()}
        | {"evicted": doomed, "cpu_us_each": death["cpu_s"] / doomed * 1e6}
    )


if __name__ == "__main__":
    main()
