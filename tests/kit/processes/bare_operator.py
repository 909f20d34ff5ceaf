# SPDX-License-Identifier: Apache-2.0
"""An operator as it runs on a cluster: `bare_operator.py KUBECONFIG`. It stops once it has labelled a namespace."""

from __future__ import annotations

import sys
import urllib.request

from controller_runtime import (
    Controller,
    Endpoints,
    LeaderElectionConfig,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    Stop,
    labels_of,
)
from controller_runtime.resources import NAMESPACES

KEY = ObjectKey("default")


class Labels(Reconciler):
    """Labels the namespace, and stops the program when its cache shows the label."""

    def __init__(self, manager: Manager, stop: Stop) -> None:
        self.namespaces = manager.lister(NAMESPACES)
        self.client = manager.client
        self.recorder = manager.recorder("bare-operator")
        self.stop = stop

    def reconcile(self, request: Request) -> Result:
        namespace = self.namespaces.get(request)
        if namespace is not None and request == KEY:
            if "labelled" in labels_of(namespace):
                self.stop.set()
            else:
                self.client.patch(NAMESPACES, request, {"metadata": {"labels": {"labelled": "yes"}}})
                self.recorder.event(namespace, "Normal", "Labelled", "labelled", resource=NAMESPACES)
        return Result()


def main() -> None:
    with Endpoints(metrics="127.0.0.1:0", probes="127.0.0.1:0") as endpoints:
        election = LeaderElectionConfig(name="bare-operator", namespace="default")
        manager = Manager.from_kubeconfig(sys.argv[1], leader_election=election)
        stop = Stop(manager.host)
        manager.add(Controller("labels", Labels(manager, stop)).watch(NAMESPACES))
        endpoints.serve(manager)
        manager.run(stop)
        with urllib.request.urlopen(f"http://127.0.0.1:{endpoints.ports[0]}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        counter = 'controller_runtime_reconcile_total{controller="labels",result="success"'
        print(next(line for line in lines if line.startswith(counter)))  # noqa: T201 (a program)
        manager.transport.close()


if __name__ == "__main__":
    main()
