# SPDX-License-Identifier: Apache-2.0
"""An embedded server with the objects of a cluster in use: NODES nodes of 7 KB, and PODS running pods of 6 KB.

One pod is created through the API and reported as running; the others are copies of it, written to the
storage. To create and report 50,000 pods one by one would take longer than the measurement.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from uuid import UUID

from apimachinery.host import Host
from apimachinery.objects import ObjectKey, timestamp
from benchmarks.nodes import big_node, big_pod
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.patches import PatchType
from controllers.hollow.pod_maker import hollow_pod
from controllers.hollow.pods import CONDITIONS
from controllers.shared.with_token import WithToken
from embedded_apiserver import APIServer, Draft, key_of, serve


def main() -> None:
    """Fill the server, then serve until the parent process ends."""
    nodes, pods = int(sys.argv[1]), int(sys.argv[2])
    serve(0, None, None, exit_with_parent=True, beside=partial(_filled, nodes=nodes, pods=pods))


@contextlib.contextmanager
def _filled(host: Host, server: APIServer, token: str, *, nodes: int, pods: int) -> Iterator[None]:
    client = Client(host, InProcessTransport(host, WithToken(server, token)))
    for index in range(nodes):
        client.create(NODES, big_node(index))
    if pods:
        _copy(server, _running_pod(host, client, nodes), pods, nodes)
    yield


def _running_pod(host: Host, client: Client, nodes: int) -> ObjectKey:
    """Create a pod, report it as running as its kubelet would, and return its key."""
    pod = client.create(PODS, big_pod(0, nodes)).key
    now = timestamp(host.now())
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in CONDITIONS]
    patch = {"status": {"phase": "Running", "startTime": now, "conditions": conditions}}
    client.patch(PODS, pod, patch, type=PatchType.STRATEGIC, subresource="status")
    return pod


def _copy(server: APIServer, first: ObjectKey, pods: int, nodes: int) -> None:
    """Write copies of the first pod to the storage, each with its own name, uid and node."""
    stored = server.storage.get(PODS.plural, key_of(first.namespace, first.name))
    assert stored is not None, "it has just been created"
    pod = stored.decode()
    for index in range(1, pods):
        own = hollow_pod(index, nodes)
        name = own["metadata"]["name"]
        pod["metadata"] |= {"name": name, "uid": str(UUID(int=index))}
        pod["spec"]["nodeName"] = own["spec"]["nodeName"]
        server.storage.commit(PODS.plural, key_of(first.namespace, name), None, Draft.of(pod))


if __name__ == "__main__":
    main()
