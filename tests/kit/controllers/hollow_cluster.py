# SPDX-License-Identifier: Apache-2.0
"""Hollow nodes on an embedded cluster under simulated time, with a log of their requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from apimachinery.http import HTTPRequest
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.faults import Fault, FaultyTransport
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.hollow.nodes import HollowNodes
from embedded_apiserver.server import APIServer


class HollowCluster:
    """A manager with hollow nodes, a server without faults of its own, and a client for what others do.

    Attributes:
        asked: Requests: monotonic seconds of the nodes' host, method, name of the object.
        fault: Faults of which each request about nodes and leases meets one at random; None is no fault.
        fault_of: Returns the fault for requests about one node or lease, by its name; None leaves it to `fault`.
        fault_of_pods: Returns the fault for the next creation of a pod.
    """

    def __init__(self, sim: Simulation, count: int, *, cached: bool = True, **options: Any) -> None:
        self.sim = sim
        self.host = sim.host("hollow")
        server_host = sim.host("server")
        self.server = APIServer(server_host)
        self.world = Client(server_host, InProcessTransport(server_host, self.server))
        self.asked: list[tuple[float, str, str]] = []
        self.fault: list[Fault | None] = [None]
        self.fault_of: Callable[[str], Fault | None] = lambda name: None
        self.fault_of_pods: Callable[[], Fault | None] = lambda: None
        transport = FaultyTransport(self.host, InProcessTransport(self.host, self.server), self._fault)
        self.cluster = EmbeddedCluster(self.host, server=self.server, transport=transport)
        manager = self.cluster.manager
        informer = manager.informer(NODES) if cached else None
        self.nodes = HollowNodes(self.host, manager.client, count, nodes=informer, **options)
        manager.add(self.nodes)

    def start(self, seconds: float = 5.0) -> None:
        self.cluster.start()
        self.sim.advance(seconds)

    def end(self) -> None:
        self.cluster.stop()

    def ready(self) -> dict[str, str]:
        """Return the status of the condition Ready by name of the node."""
        found = {}
        for node in self.world.list(NODES, view=dict):
            conditions = node["status"]["conditions"]
            assert conditions[-1]["type"] == "Ready"
            found[node["metadata"]["name"]] = conditions[-1]["status"]
        return found

    def renew_times(self) -> dict[str, str]:
        leases: list[dict[str, Any]] = self.world.list(LEASES, NAMESPACE, view=dict)
        return {lease["metadata"]["name"]: lease["spec"]["renewTime"] for lease in leases}

    def asked_of(self, name: str) -> list[str]:
        """Return the methods of the requests about one name; a POST has no name in its path."""
        return [method for _, method, asked in self.asked if asked == name]

    def _fault(self, number: int, request: HTTPRequest) -> Fault | None:
        parts = request.path.split("/")
        if parts[-1] == "pods" and request.method == "POST":
            return self.fault_of_pods()
        if not {"nodes", "leases"} & {*parts} or (request.method == "GET" and parts[-1] == "nodes"):
            return None  # the list and the watch of the cache meet no fault
        name = parts[parts.index("status") - 1] if parts[-1] == "status" else parts[-1]
        self.asked.append((self.host.monotonic(), request.method, name))
        if request.method == "POST":
            name = json.loads(request.body or b"{}")["metadata"]["name"]
        return self.fault_of(name) or self.host.random.choice(self.fault)
