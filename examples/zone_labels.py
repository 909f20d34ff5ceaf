# SPDX-License-Identifier: Apache-2.0
"""Copies each node's zone annotation to a label, so that selectors can use it."""

from __future__ import annotations

from controller_runtime import Controller, Manager, Reconciler, Request, Result
from controller_runtime import annotations_of, changed, labels_of, run
from controller_runtime.resources import NODES

ZONE = "example.com/zone"


class ZoneLabels(Reconciler):
    def __init__(self, manager: Manager) -> None:
        self.nodes, self.client = manager.lister(NODES), manager.client

    def reconcile(self, request: Request) -> Result:
        node = self.nodes.get(request)
        if node is not None:
            zone = annotations_of(node).get(ZONE)
            if labels_of(node).get(ZONE) != zone:
                self.client.patch(NODES, request, {"metadata": {"labels": {ZONE: zone}}})
        return Result()


def setup(manager: Manager) -> None:
    controller = Controller("zone-labels", ZoneLabels(manager))
    manager.add(controller.watch(NODES, when=changed(annotations_of)))


if __name__ == "__main__":
    run(setup)
