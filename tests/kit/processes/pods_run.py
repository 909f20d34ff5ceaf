# SPDX-License-Identifier: Apache-2.0
"""Nodes without machines, and pods bound to them as soon as they are created.

It is run as `python -m kit.processes.pods_run KUBECONFIG` in the folder of the tests.
It stands in for kubelets and a scheduler, so that the suites of other clients see pods run.
"""

from __future__ import annotations

import contextlib
import sys

import msgspec

from apimachinery.errors import AlreadyExists, Conflict, DecodeError, NotFound
from controller_runtime import Controller, Manager, Reconciler, Request, Result
from controller_runtime.api.resources import Resource
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.resources import NODES, PODS
from controllers.hollow.node import node_name
from controllers.hollow.nodes import HollowNodes
from controllers.hollow.pods import HollowPods

BINDINGS = Resource("", "v1", "Binding", "bindings")


class _Metadata(msgspec.Struct, rename="camel"):
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec


class Binder(Reconciler):
    """Binds each pod to the first hollow node.

    Args:
        pods: The pods.
        client: Makes the writes.
    """

    def __init__(self, pods: Lister[_Pod], client: Client) -> None:
        self._pods, self._client = pods, client

    def reconcile(self, request: Request) -> Result:
        pod = self._pods.get(request)
        if pod is None or pod.spec.node_name or pod.metadata.deletion_timestamp:
            return Result()
        target = {"apiVersion": "v1", "kind": "Node", "name": node_name(0)}
        binding = {"metadata": {"name": request.name, "namespace": request.namespace}, "target": target}
        # The answer to a binding is a Status, which is no object.
        with contextlib.suppress(AlreadyExists, Conflict, NotFound, DecodeError):
            self._client.create(BINDINGS, binding)
        return Result()


def setup(manager: Manager, nodes: int = 1) -> None:
    """Add the nodes, their pods and the binder."""
    hollow = HollowNodes(manager.host, manager.client, nodes, nodes=manager.informer(NODES))
    manager.add(hollow)
    manager.add(HollowPods(manager, hollow.is_running))
    manager.add(Controller("binder", Binder(manager.lister(PODS, _Pod), manager.client)).watch(PODS))


if __name__ == "__main__":
    manager = Manager.from_kubeconfig(sys.argv[1])
    setup(manager)
    manager.run()
