# SPDX-License-Identifier: Apache-2.0
"""Copies each node's zone annotation to a label, so that selectors can use it."""

from __future__ import annotations

import attrs
from kubernetes.client import V1Node

from controller_runtime import (
    NODES,
    Client,
    Controller,
    Lister,
    Manager,
    Reconciler,
    Request,
    Result,
    annotations_of,
    changed,
    labels_of,
)

ZONE = "example.com/zone"


@attrs.frozen
class ZoneLabels(Reconciler):
    nodes: Lister[V1Node]
    client: Client

    def reconcile(self, request: Request) -> Result:
        node = self.nodes.get(request)
        if node is None:
            return Result()
        zone = annotations_of(node).get(ZONE)
        if labels_of(node).get(ZONE) != zone:
            self.client.patch(NODES, request, {"metadata": {"labels": {ZONE: zone}}})
        return Result()


def zone_labels(manager: Manager) -> Controller:
    reconciler = ZoneLabels(manager.lister(NODES), manager.client)
    return Controller("zone-labels", reconciler).watch(NODES, when=changed(annotations_of))


def setup(manager: Manager) -> None:
    manager.add(zone_labels(manager))


if __name__ == "__main__":
    import tour

    tour.run(zone_labels)
