# SPDX-License-Identifier: Apache-2.0
"""The cost of watching nodes that change, with one of several clients: WHO KUBECONFIG NODES LAST.

Prints `ready` when NODES nodes are known, and the CPU since then when a node named LAST appears.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping

import attrs

from benchmarks.harness import report


@attrs.define
class Meter:
    """Measures the CPU between the first time that all nodes are known and the last event. Threads: one."""

    nodes: int
    last: str
    _known: set[str] = attrs.field(factory=set, init=False)
    _cpu: float = attrs.field(default=0.0, init=False)

    def seen(self, name: str) -> None:
        """Note that a node appeared or changed. The last one ends the process, as not every client can be stopped."""
        if name == self.last:
            report({"cpu_s": time.process_time() - self._cpu})
            os._exit(0)
        if len(self._known) < self.nodes:
            self._known.add(name)
            if len(self._known) == self.nodes:
                self._cpu = time.process_time()
                print("ready", flush=True)  # noqa: T201


def ours(kubeconfig: str, meter: Meter) -> None:
    """Watch with our informer and a handler."""
    from apimachinery.stop import Stop
    from apimachinery.system import SystemHost
    from controller_runtime.api.collection import Collection
    from controller_runtime.api.resources import NODES
    from controller_runtime.cache.informers import Informers
    from controller_runtime.client.http.configuration import from_kubeconfig
    from controller_runtime.client.http.transport import HTTPTransport

    host = SystemHost()
    informers, stop = Informers(host, HTTPTransport(host, from_kubeconfig(kubeconfig))), Stop(host)
    informers.of(Collection(NODES)).add_handler(lambda delta: meter.seen(delta.object.name))
    informers.start(stop)
    stop.wait_until(None)


def official(kubeconfig: str, meter: Meter) -> None:
    """Watch with the official client's informer and its handlers."""
    import kubernetes
    from kubernetes.informer import ADDED, MODIFIED, SharedInformer

    kubernetes.config.load_kube_config(kubeconfig)
    informer = SharedInformer(list_func=kubernetes.client.CoreV1Api().list_node)
    for kind in (ADDED, MODIFIED):
        informer.add_event_handler(kind, lambda node: meter.seen(node.metadata.name))
    informer.start()
    threading.Event().wait()


def lightkube(kubeconfig: str, meter: Meter) -> None:
    """Watch with lightkube, which has no cache."""
    from lightkube import Client, KubeConfig
    from lightkube.resources.core_v1 import Node

    for _, node in Client(config=KubeConfig.from_file(kubeconfig)).watch(Node):
        assert node.metadata is not None
        meter.seen(node.metadata.name or "")


def kr8s(kubeconfig: str, meter: Meter) -> None:
    """Watch with kr8s, which has no cache."""
    import kr8s

    for _, node in kr8s.api(kubeconfig=kubeconfig).watch("nodes"):
        meter.seen(node.name)


def kopf(kubeconfig: str, meter: Meter) -> None:
    """Watch with a handler of kopf, which may skip a change if a later one of the same node has arrived."""
    os.environ["KUBECONFIG"] = kubeconfig
    import kopf  # after KUBECONFIG is set, which it reads once

    logging.disable(logging.CRITICAL)

    async def changed(name: str, **_: object) -> None:
        meter.seen(name)

    kopf.on.event("nodes")(changed)
    asyncio.run(kopf.operator(clusterwide=True, standalone=True))


PEERS: Mapping[str, Callable[[str, Meter], None]] = {
    "ours": ours,
    "official": official,
    "lightkube": lightkube,
    "kr8s": kr8s,
    "kopf": kopf,
}


def main() -> None:
    """Watch until the last node appears."""
    who, kubeconfig, nodes, last = sys.argv[1:]
    PEERS[who](kubeconfig, Meter(int(nodes), last))


if __name__ == "__main__":
    main()
