# SPDX-License-Identifier: Apache-2.0
"""The node lifecycle controller on an embedded cluster under simulated time, with kubelets that a test commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import attrs

from apimachinery.errors import NotFound
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey, microtime, timestamp
from controller_runtime.api.resources import CORE_EVENTS, LEASES, NODES, PODS, Resource
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.answers import check
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.patches import PatchType
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.faults import Fault, FaultyTransport, Refused
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.node_lifecycle.config import LifecycleConfig
from controllers.node_lifecycle.node_lifecycle import NodeLifecycle, node_lifecycle
from controllers.node_lifecycle.zones import ZoneReport
from controllers.taint_eviction.taint_eviction import taint_eviction
from embedded_apiserver.server import APIServer

PREFIX = "node.kubernetes.io/"
RENEW = 10.0
CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")


@attrs.define
class Kubelet:
    """The behaviour of one kubelet: seconds between its renewals and between its posts; None for never."""

    renews: float | None = RENEW
    posts: float | None = 300.0
    says: dict[str, str] = attrs.field(factory=lambda: {kind: str(kind == "Ready") for kind in CONDITIONS})
    skew: float = 0.0
    next_renewal: float = 0.0
    next_post: float = 0.0


class LifecycleCluster:
    """A server without faults, kubelets, and the controller, which can be killed and started again.

    Attributes:
        evicts: Whether the controller that deletes pods runs as well.
        spoils: Transforms of the objects in the controller's caches, by collection.
        world: A client that acts as everything else in the cluster.
        fault: Returns the fault of a request of the controller for a single object, by its method and path.
    """

    def __init__(self, sim: Simulation, *, evicts: bool = False, **config: Any) -> None:
        self.sim = sim
        self.evicts = evicts
        self.spoils: dict[Resource[Any], Transform] = {}
        self.config = LifecycleConfig(**config)
        self.host = sim.host("server")
        self.server = APIServer(self.host)
        self.world = Client(self.host, InProcessTransport(self.host, self.server))
        self.kubelets: dict[str, Kubelet] = {}
        self.fault: Callable[[HTTPRequest], Fault | None] = lambda request: None
        self.runs = 0
        self.killed = False
        self.cluster: EmbeddedCluster | None = None

    def start(self) -> None:
        """Start the controller, or another one in place of the one that ended."""
        self.runs += 1
        self.controller = self.sim.host(f"controller-{self.runs}")
        run = self.runs

        def fault(number: int, request: HTTPRequest) -> Fault | None:
            return self.fault(request) if run == self.runs and not self.killed else Refused()

        transport = FaultyTransport(self.controller, InProcessTransport(self.controller, self.server), fault)
        self.killed = False
        self.cluster = EmbeddedCluster(self.controller, server=self.server, transport=transport)
        for resource, spoil in self.spoils.items():
            self.cluster.manager.informers.transform(resource, spoil)
        self.lifecycle = node_lifecycle(self.cluster.manager, config=self.config)
        self.cluster.manager.add(self.lifecycle)
        if self.evicts:
            self.cluster.manager.add(taint_eviction(self.cluster.manager))
        self.cluster.start()
        self.sim.settle()

    def kill(self) -> None:
        """End the controller as kill -9 does, as far as the server can tell: no request of it arrives from now on."""
        self.killed = True
        self.end()

    def end(self) -> None:
        if self.cluster is not None:
            self.cluster.stop()
            self.cluster = None

    def node(self, name: str, zone: str = "", *, age: float = 0.0, labels: dict[str, str] | None = None) -> None:
        """Register a node whose kubelet does nothing yet."""
        zone_label = {"topology.kubernetes.io/zone": zone} if zone else {}
        if age:
            self.sim.jump(self.host, -age)
        self.world.create(NODES, {"metadata": {"name": name, "labels": {**zone_label, **(labels or {})}}})
        if age:
            self.sim.jump(self.host, age)

    def live(self, *names: str, **kubelet: Any) -> None:
        """Let the kubelets of these nodes begin, now."""
        for name in names:
            self.kubelets[name] = Kubelet(**kubelet, next_renewal=self.sim.time, next_post=self.sim.time)
        self._beat()

    def silence(self, *names: str) -> None:
        for name in names:
            del self.kubelets[name]

    def healthy(self, *names: str, zone: str = "", **kubelet: Any) -> None:
        """Register healthy nodes, whose kubelets renew and post."""
        for name in names:
            self.node(name, zone)
        self.live(*names, **kubelet)
        self.sim.settle()

    def run(self, seconds: float) -> None:
        """Let time pass, with the kubelets' renewals and posts."""
        until = self.sim.time + seconds
        while True:
            due = [t for k in self.kubelets.values() for t, every in self._times(k) if every is not None]
            moment = min([*due, until])
            self.sim.advance(max(0.0, moment - self.sim.time))
            self._beat()
            if moment >= until:
                return

    def renew(self, name: str, at: float = 0.0) -> None:
        """Renew a node's lease with a renewTime that is `at` seconds off."""
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": 40,
            "renewTime": microtime(self.host.now() + timedelta(seconds=at)),
        }
        try:
            self.world.patch(LEASES, ObjectKey(name, NAMESPACE), {"spec": spec})
        except NotFound:
            self.world.create(LEASES, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})

    def post(self, name: str, skew: float = 0.0, **says: str) -> None:
        """Post a node's status as its kubelet does: the conditions in `says`, or a healthy node's."""
        says = says or {kind: str(kind == "Ready") for kind in CONDITIONS}
        now = timestamp(self.host.now() + timedelta(seconds=skew))
        conditions = [
            {"type": kind, "status": status, "reason": "Kubelet", "lastHeartbeatTime": now}
            | ({} if self.status(name, kind) == status else {"lastTransitionTime": now})
            for kind, status in says.items()
        ]
        patch = {"status": {"conditions": conditions}}
        self.world.patch(NODES, ObjectKey(name), patch, type=PatchType.STRATEGIC, subresource="status")

    def pod(self, name: str, node: str, ready: str | None = "True", tolerations: Sequence[Any] = ()) -> None:
        """Create a pod on a node, with a Ready condition or without."""
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], "tolerations": [*tolerations]}
        self.world.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")
        if ready is not None:
            self.pod_says(name, ready)

    def bind(self, name: str, node: str) -> None:
        """Place a pod, as a scheduler does."""
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"name": node}}
        path, headers = PODS.path("default", name, "binding"), {"content-type": "application/json"}
        request = HTTPRequest("POST", path, (), headers, json.dumps(body).encode())
        check(self.world.transport.request(request, self.host.monotonic() + 5.0))

    def pod_says(self, name: str, ready: str) -> None:
        """Write a pod's status as its kubelet does."""
        conditions = [{"type": "Ready", "status": ready, "reason": "Kubelet"}]
        patch = {"status": {"phase": "Running", "conditions": conditions}}
        self.world.patch(PODS, ObjectKey(name, "default"), patch, type=PatchType.STRATEGIC, subresource="status")

    def read(self, name: str) -> dict[str, Any]:
        return self.world.get(NODES, ObjectKey(name), dict)

    def condition(self, name: str, kind: str = "Ready") -> dict[str, Any]:
        conditions = self.read(name).get("status", {}).get("conditions", [])
        return next((c for c in conditions if c["type"] == kind), {})

    def status(self, name: str, kind: str = "Ready") -> str:
        return str(self.condition(name, kind).get("status", ""))

    def statuses(self, *names: str) -> list[str]:
        return [self.status(name) for name in names]

    def taints(self, name: str) -> list[str]:
        """Return a node's taints as `key:effect`, without the common prefix."""
        found = self.read(name).get("spec", {}).get("taints", [])
        return [f"{t['key'].removeprefix(PREFIX)}:{t['effect']}" for t in found]

    def evicted(self) -> list[str]:
        """Return the names of the nodes with a NoExecute taint of the controller."""
        names = [node["metadata"]["name"] for node in self.world.list(NODES, view=dict)]
        ours = {"not-ready:NoExecute", "unreachable:NoExecute"}
        return [name for name in names if ours & {*self.taints(name)}]

    def pod_ready(self, name: str) -> dict[str, Any]:
        conditions = self.world.get(PODS, ObjectKey(name, "default"), dict)["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == "Ready"), {})

    def events(self, reason: str) -> list[tuple[str, str, str]]:
        """Return kind, name and message of the events with that reason."""
        found = self.world.list(CORE_EVENTS, view=dict)
        return [
            (e["involvedObject"]["kind"], e["involvedObject"]["name"], e["message"])
            for e in found
            if e["reason"] == reason
        ]

    def zones(self) -> list[ZoneReport]:
        reconciler = self.lifecycle.reconciler
        assert isinstance(reconciler, NodeLifecycle)
        return reconciler.monitor.reports()

    def writes(self) -> list[str]:
        """Return the controller's writes as method and path, without events."""
        assert self.cluster is not None
        found = self.cluster.transport.writes()
        return [f"{w.method} {w.path.removeprefix('/api/v1/')}" for w in found if "/events" not in w.path]

    def _beat(self) -> None:
        now = self.sim.time + 1e-6  # the simulation counts nanoseconds, and sums of floats do not
        for name, kubelet in self.kubelets.items():
            if kubelet.renews is not None and kubelet.next_renewal <= now:
                self.renew(name, kubelet.skew)
                kubelet.next_renewal += kubelet.renews
            if kubelet.posts is not None and kubelet.next_post <= now:
                self.post(name, kubelet.skew, **kubelet.says)
                kubelet.next_post += kubelet.posts
        self.sim.settle()

    @staticmethod
    def _times(kubelet: Kubelet) -> list[tuple[float, float | None]]:
        return [(kubelet.next_renewal, kubelet.renews), (kubelet.next_post, kubelet.posts)]
