# SPDX-License-Identifier: Apache-2.0
"""Taint eviction on an embedded cluster under simulated time, with nodes that a test taints by hand."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from apimachinery.errors import CacheSyncTimeout, NotFound
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import EVENTS, NODES, PODS, Resource
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.answers import check
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.patches import PatchType
from controller_runtime.manager.metrics import Metrics
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.faults import Fault, FaultyTransport, Refused
from controller_runtime.testing.objects import a_node, a_pod
from controller_runtime.testing.simulation import Simulation
from controllers.taint_eviction.taint_eviction import taint_eviction
from embedded_apiserver.server import APIServer

UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"
TAINT = {"key": "dedicated", "value": "x", "effect": "NoExecute"}


def tolerates(key: str = "dedicated", seconds: int | None = None, **others: Any) -> dict[str, Any]:
    """Return a toleration of NoExecute taints with that key; without seconds it has no end."""
    toleration = {"key": key, "operator": "Exists", "effect": "NoExecute", **others}
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


class Evicting:
    """The controller on an embedded server, and a client that acts as everything else in the cluster.

    Args:
        sim: The simulation.
        spoils: Transforms of the objects in the controller's caches, by collection.

    Attributes:
        asked: The writes and single reads of the controller, as method and name.
        before: By method, an action that runs once, before the controller's next request of that method arrives.
        faults: The faults of its requests, by method and name ("PATCH p"), else by method.
        watches: The faults of its new watches, by collection.
        clusters: The controller's processes so far; all but the last were killed.
    """

    def __init__(self, sim: Simulation, spoils: Mapping[Resource[Any], Transform] | None = None) -> None:
        self.sim = sim
        self.spoils = spoils or {}
        self.server_host = sim.host("server")
        self.server = APIServer(self.server_host)
        self.world = Client(self.server_host, InProcessTransport(self.server_host, self.server))
        self.asked: list[str] = []
        self.before: dict[str, Callable[[], object]] = {}
        self.faults: dict[str, Fault] = {}
        self.watches: dict[str, Fault] = {}
        self.clusters: list[EmbeddedCluster] = []
        self._compose()

    def _compose(self) -> None:
        self.alive = number = len(self.clusters)
        self.host = self.sim.host(f"controller-{number}")

        def fault(_: int, request: HTTPRequest) -> Fault | None:
            return self._fault(request) if number == self.alive else Refused()

        transport = FaultyTransport(self.host, InProcessTransport(self.host, self.server), fault)
        self.cluster = EmbeddedCluster(self.host, server=self.server, transport=transport)
        self.clusters.append(self.cluster)
        for resource, spoil in self.spoils.items():
            self.cluster.manager.informers.transform(resource, spoil)
        self.controller = taint_eviction(self.cluster.manager)
        self.cluster.manager.add(self.controller)

    def start(self) -> None:
        self.cluster.start()
        self.sim.settle()

    def kill(self) -> None:
        """Refuse all requests of the controller from now on; its threads go on."""
        self.alive = -1

    def restart(self, down: float = 0.0) -> None:
        """Kill the controller, and start another one `down` seconds later."""
        self.kill()
        self.sim.advance(down)
        self._compose()
        self.start()

    def end(self) -> None:
        for cluster in self.clusters:
            with contextlib.suppress(CacheSyncTimeout):  # a killed controller cannot fill its caches
                cluster.stop()

    # Actions of the rest of the cluster.

    def node(self, name: str = "n", *taints: Mapping[str, Any]) -> None:
        self.world.create(NODES, a_node(name))
        self.taint(name, *taints)

    def taint(self, name: str = "n", *taints: Mapping[str, Any]) -> None:
        """Replace the taints of a node."""
        self.world.patch(NODES, ObjectKey(name), {"spec": {"taints": [*taints] or None}})
        self.sim.settle()

    def pod(self, name: str, *tolerations: Mapping[str, Any], node: str = "n", **spec: Any) -> None:
        body = a_pod(name, node=node)
        body["spec"] |= {"tolerations": [*tolerations], **spec}
        self.world.create(PODS, body)
        self.sim.settle()

    def tolerate(self, name: str, *tolerations: Mapping[str, Any]) -> None:
        """Give a pod tolerations beside the defaults."""
        defaults = [one for one in self.get(name)["spec"]["tolerations"] if one["key"].startswith("node.")]
        patch = {"spec": {"tolerations": [*tolerations, *defaults]}}
        self.world.patch(PODS, ObjectKey(name, "default"), patch, type=PatchType.MERGE)
        self.sim.settle()

    def delete(self, name: str, grace: int | None = None) -> None:
        self.world.delete(PODS, ObjectKey(name, "default"), grace_period_seconds=grace)
        self.sim.settle()

    def bind(self, name: str, binding: Mapping[str, Any]) -> None:
        path = PODS.path("default", name, "binding")
        headers = {"content-type": "application/json"}
        body = json.dumps({"apiVersion": "v1", "kind": "Binding", **binding}).encode()
        check(
            self.world.transport.request(HTTPRequest("POST", path, (), headers, body), self.server_host.monotonic() + 5)
        )
        self.sim.settle()

    # Observations for a test.

    def text(self, metric: str) -> list[str]:
        """Return the values of a metric."""
        lines = Metrics(self.cluster.manager).text().decode().splitlines()
        return [line.rpartition(" ")[2] for line in lines if line.startswith(metric)]

    def get(self, name: str) -> dict[str, Any]:
        return self.world.get(PODS, ObjectKey(name, "default"), dict)

    def leaving(self) -> list[str]:
        """Return the names of the pods that are being deleted."""
        pods: list[dict[str, Any]] = self.world.list(PODS, view=dict)
        return sorted(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"])

    def is_leaving(self, name: str) -> bool:
        try:
            return "deletionTimestamp" in self.get(name)["metadata"]
        except NotFound:
            return True

    def events(self) -> list[str]:
        """Return the first word of each event's message, and its pod."""
        self.sim.settle()
        events: list[dict[str, Any]] = self.world.list(EVENTS, view=dict)
        assert {event["reason"] for event in events} <= {"TaintManagerEviction"}
        return sorted(f"{event['note'].partition(' ')[0]} {event['regarding']['name']}" for event in events)

    def time_of_deletion(self, name: str) -> float:
        """Return when the pod was deleted, in whole seconds of the simulation."""
        metadata = self.get(name)["metadata"]
        at = datetime.fromisoformat(metadata["deletionTimestamp"])
        at -= timedelta(seconds=metadata["deletionGracePeriodSeconds"])
        return (at - self.server_host.now()).total_seconds() + self.sim.time

    def _fault(self, request: HTTPRequest) -> Fault | None:
        parts = request.path.split("/")
        if parts[-1] in ("nodes", "pods"):
            return self.watches.get(parts[-1])
        if "events" in parts:
            return None
        name = parts[-2] if parts[-1] == "status" else parts[-1]
        self.asked.append(f"{request.method} {name}")
        if (act := self.before.pop(request.method, None)) is not None:
            act()
        return self.faults.get(f"{request.method} {name}", self.faults.get(request.method))
