# SPDX-License-Identifier: Apache-2.0
"""node-ttl from its start to the annotation of the last node: KUBECONFIG COUNT."""

from __future__ import annotations

import sys
from pathlib import Path

from apimachinery.stop import Stop, spawn
from benchmarks.harness import metered, report
from controller_runtime.api.resources import NODES
from controller_runtime.cache.store import Delta
from controller_runtime.manager.manager import Manager
from controllers.command.snapshot_counters import NodeCounter
from controllers.node_ttl import node_ttl


def main() -> None:
    """Run the controller until every node has its annotation, and print the figures."""
    manager, count, figures = Manager.from_kubeconfig(Path(sys.argv[1])), int(sys.argv[2]), dict[str, float]()
    controller, counter, stop = node_ttl(manager), NodeCounter(manager.host), Stop(manager.host)
    manager.add(controller)

    def observe(delta: Delta) -> None:
        counter.observe(delta)
        now = counter.count()
        if now.nodes == count and now.ttl == {"300": count}:
            done.set()

    done = Stop(manager.host)
    manager.informer(NODES).subscribe(observe, name="counter")
    with metered(figures):
        thread = spawn(manager.host, stop, "manager", lambda: manager.run(stop))
        finished = done.wait(300)
    stop.set()
    thread.join_until(None)
    assert finished, counter.count()
    figures["reconciles"] = controller.reconciles
    report(figures)


if __name__ == "__main__":
    main()
