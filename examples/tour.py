# SPDX-License-Identifier: Apache-2.0
"""Shows the controller of `zone_labels` at work: `python examples/tour.py`.

It starts the embedded API server in this process, creates three nodes with annotations, and prints what the
controller does to them.
"""

from __future__ import annotations

from zone_labels import ZONE, setup

from controller_runtime import Delta, Stop, SystemHost, annotations_of, labels_of
from controller_runtime.resources import NODES
from controller_runtime.testing import EmbeddedCluster


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
    with EmbeddedCluster(SystemHost()) as cluster:
        setup(cluster.manager)
        show(cluster)
