# SPDX-License-Identifier: Apache-2.0
"""Assigns an address to every node, and releases it before the node is gone: `python examples/finalizer.py`.

The addresses come from a system outside of the cluster; here that is a dict. A finalizer
keeps the two in step: it is put on the node before an address is taken, and removed
after the address was released, so no address leaks, whichever process crashes in between.
"""

from __future__ import annotations

import attrs
from kubernetes.client import V1Node

from controller_runtime import (
    Client,
    Controller,
    Delta,
    EventRecorder,
    Finalizers,
    Lister,
    Manager,
    Reconciler,
    Request,
    Result,
    Stop,
    SystemHost,
    annotations_of,
    meta,
)
from controller_runtime.resources import EVENTS, NODES
from controller_runtime.testing import EmbeddedCluster

ADDRESS = "example.com/address"


@attrs.frozen
class Pool:
    """Owns the addresses. Both calls may be repeated, because a reconcile may."""

    taken: dict[str, str] = attrs.field(factory=dict)

    def take(self, name: str) -> str:
        return self.taken.setdefault(name, f"192.0.2.{len(self.taken) + 1}")

    def give_back(self, name: str) -> None:
        self.taken.pop(name, None)


@attrs.frozen
class Addresses(Reconciler):
    nodes: Lister[V1Node]
    client: Client
    recorder: EventRecorder
    finalizers: Finalizers[V1Node]
    pool: Pool

    def reconcile(self, request: Request) -> Result:
        node = self.nodes.get(request)
        if node is None or self.finalizers.handle(node):
            return Result()
        address = self.pool.take(request.name)
        if annotations_of(node).get(ADDRESS) != address:
            self.client.patch(NODES, request, {"metadata": {"annotations": {ADDRESS: address}}})
            self.recorder.event(node, "Normal", "AddressTaken", f"the node has {address}", action="Take")
        return Result()


def addresses(manager: Manager, pool: Pool) -> Controller:
    recorder = manager.recorder("example.com/addresses")

    def release(node: V1Node) -> None:
        pool.give_back(meta(node).name)
        recorder.event(node, "Normal", "AddressReturned", "the node may go", action="GiveBack")

    finalizers = Finalizers[V1Node](manager.client, NODES).register(ADDRESS, release)
    reconciler = Addresses(manager.lister(NODES), manager.client, recorder, finalizers, pool)
    return Controller("addresses", reconciler).watch(NODES)


def show(cluster: EmbeddedCluster, pool: Pool) -> None:
    """Create two nodes, delete each once it has its address, and print every change until both are gone."""
    gone = Stop(cluster.host)
    left = {"node-a", "node-b"}

    def seen(delta: Delta) -> None:
        if delta.new is None:
            print(f"{delta.key} is gone; addresses taken: {pool.taken}")
            left.discard(delta.key.name)
            if not left:
                gone.set()
            return
        node = meta(delta.new)
        print(f"{node.name}: finalizers {node.finalizers}, annotations {node.annotations}")
        if ADDRESS in (node.annotations or {}) and node.deletion_timestamp is None:
            cluster.client.delete(NODES, delta.key)

    cluster.manager.informer(NODES).subscribe(seen, name="show")
    cluster.start()
    for name in sorted(left):
        cluster.client.create(NODES, {"metadata": {"name": name}})
    gone.wait(10.0)


if __name__ == "__main__":
    pool = Pool()
    with EmbeddedCluster(SystemHost()) as cluster:
        cluster.manager.add(addresses(cluster.manager, pool))
        show(cluster, pool)
    for event in cluster.client.list(EVENTS, view=dict):
        print(f"event: {event['regarding']['name']} {event['reason']}: {event['note']}")
