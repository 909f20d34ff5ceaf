# SPDX-License-Identifier: Apache-2.0
"""A custom kind and its controller: `python examples/custom_resource.py`.

A label of each node names the rack that it stands in. Closing a rack keeps new pods from its nodes,
and its status has the number of its nodes. The definition could be given to `kubectl apply` as
it is, and the embedded server treats it as a cluster does: it refuses a rack
without a room, fills in defaults, and keeps spec and status apart.
"""

from __future__ import annotations

from typing import Any

import attrs
import msgspec

from controller_runtime import (
    NODES,
    Client,
    Controller,
    Delta,
    Invalid,
    Lister,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Resource,
    Result,
    Stop,
    SystemHost,
    labels_of,
    meta,
)
from controller_runtime.testing import EmbeddedCluster

DEFINITIONS: Resource[dict[str, Any]] = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
RACKS: Resource[dict[str, Any]] = Resource("example.com", "v1", "Rack", "racks", namespaced=False)
RACK = "example.com/rack"

DEFINITION: dict[str, Any] = {
    "metadata": {"name": "racks.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "racks", "kind": "Rack", "shortNames": ["rk"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Room", "type": "string", "jsonPath": ".spec.room"},
                    {"name": "Closed", "type": "boolean", "jsonPath": ".spec.closed"},
                    {"name": "Nodes", "type": "integer", "jsonPath": ".status.nodes"},
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["room"],
                                "properties": {
                                    "room": {"type": "string", "minLength": 1},
                                    "closed": {"type": "boolean", "default": False},
                                },
                            },
                            "status": {"type": "object", "properties": {"nodes": {"type": "integer"}}},
                        },
                    }
                },
            }
        ],
    },
}


class Spec(msgspec.Struct):
    closed: bool


class Status(msgspec.Struct):
    nodes: int


class Rack(msgspec.Struct):
    """The fields of a rack that the controller reads; a plain dict would do as well."""

    spec: Spec
    status: Status | None = None


@attrs.frozen
class Racks(Reconciler):
    racks: Lister[Rack]
    nodes: Lister[dict[str, Any]]
    client: Client

    def reconcile(self, request: Request) -> Result:
        rack = self.racks.get(request)
        if rack is None:
            return Result()
        nodes = self.nodes.list(selector=f"{RACK}={request.name}")
        for node in nodes:
            if node["spec"].get("unschedulable", False) != rack.spec.closed:
                self.client.patch(NODES, ObjectKey(meta(node).name), {"spec": {"unschedulable": rack.spec.closed}})
        if rack.status != Status(len(nodes)):
            self.client.patch(RACKS, request, {"status": {"nodes": len(nodes)}}, subresource="status")
        return Result()


def racks_of(delta: Delta) -> list[Request]:
    """Return the racks in which a node stands now and stood before the change."""
    names = [labels_of(node).get(RACK) for node in (delta.old, delta.new) if node is not None]
    return [ObjectKey(name) for name in names if name]


def racks(manager: Manager) -> Controller:
    reconciler = Racks(manager.lister(RACKS, Rack), manager.lister(NODES, dict), manager.client)
    return Controller("racks", reconciler).watch(RACKS).watch(NODES, map=racks_of)


def show(cluster: EmbeddedCluster) -> None:
    """Define the kind, fill a rack, close it, and print every change of the rack until its nodes are closed."""
    done, client = Stop(cluster.host), cluster.client
    client.create(DEFINITIONS, DEFINITION)

    def seen(delta: Delta) -> None:
        rack = msgspec.json.decode(delta.object.raw)
        print(f"rack {rack['metadata']['name']}: spec {rack['spec']}, status {rack.get('status')}")
        if rack.get("status") == {"nodes": 2} and not rack["spec"]["closed"]:
            client.patch(RACKS, delta.key, {"spec": {"closed": True}})

    def node_seen(delta: Delta) -> None:
        if all(node["spec"].get("unschedulable") for node in client.list(NODES, view=dict)):
            done.set()

    cluster.manager.informer(RACKS).subscribe(seen, name="show-racks")
    cluster.manager.informer(NODES).subscribe(node_seen, name="show-nodes")
    cluster.start()
    try:
        client.create(RACKS, {"metadata": {"name": "a"}, "spec": {}})
    except Invalid as refused:
        print(f"refused: {refused}")
    client.create(RACKS, {"metadata": {"name": "a"}, "spec": {"room": "cellar"}})
    for name in ("node-1", "node-2"):
        client.create(NODES, {"metadata": {"name": name, "labels": {RACK: "a"}}})
    done.wait(10.0)


if __name__ == "__main__":
    with EmbeddedCluster(SystemHost()) as cluster:
        cluster.manager.add(racks(cluster.manager))
        show(cluster)
        for node in cluster.client.list(NODES, view=dict):
            print(f"{meta(node).name}: {node['spec']}")
