# SPDX-License-Identifier: Apache-2.0
"""Runs the controller of an example, and prints what it does: `python examples/zone_labels.py`.

Without an argument it starts the embedded API server in this process, creates three nodes with
annotations, and prints what the controller does to them. With a kubeconfig,
`python examples/zone_labels.py FILE`, it runs on that cluster until Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from controller_runtime import (
    NODES,
    Controller,
    Delta,
    Manager,
    Stop,
    SystemHost,
    annotations_of,
    labels_of,
    stop_on_signals,
)
from controller_runtime.testing import EmbeddedCluster

ZONE = "example.com/zone"


def run(make: Callable[[Manager], Controller]) -> None:
    """Run the controller that `make` returns, on the cluster that the command line names or on the embedded server."""
    if len(sys.argv) > 1:
        manager = Manager.from_kubeconfig(sys.argv[1])
        manager.add(make(manager))
        stop = Stop(manager.host)
        with stop_on_signals(manager.host, stop):
            manager.run(stop)
        return
    with EmbeddedCluster(SystemHost()) as cluster:
        cluster.manager.add(make(cluster.manager))
        show(cluster)


def show(cluster: EmbeddedCluster) -> None:
    """Create three annotated nodes, and print every change until each has its label."""
    done, labelled = Stop(cluster.host), set[str]()

    def seen(delta: Delta) -> None:
        node = delta.object
        labels = labels_of(node)
        print(f"{node.name} at {node.resource_version}: annotations {annotations_of(node)}, labels {labels}")
        if ZONE in labels:
            labelled.add(node.name)
        if len(labelled) == 3:
            done.set()

    cluster.manager.informer(NODES).subscribe(seen, name="show")
    cluster.start()
    for zone in ("a", "b", "c"):
        cluster.client.create(NODES, {"metadata": {"name": f"node-{zone}", "annotations": {ZONE: zone}}})
    done.wait(10.0)


if __name__ == "__main__":
    from zone_labels import zone_labels

    run(zone_labels)
