# SPDX-License-Identifier: Apache-2.0
"""The rest of a cluster, beside the manager under test: kubelets, and the replicas of a coordinated election.

They act on a host of their own, and by nothing but the objects on the server. So a story tells them what to do by
writes of `cluster.user`, which `pytest --perturb` can repeat, and they go on while it waits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from apimachinery.errors import Conflict, NotFound
from apimachinery.host import Thread
from apimachinery.objects import ObjectKey, annotations_of, microtime, timestamp
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES, NODES, PODS
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.patches import PatchType
from controller_runtime.testing import EmbeddedCluster, Simulation, a_lease
from controllers.heartbeat.node_lease import DURATION, NAMESPACE

SILENT = "example.com/silent"
"""The annotation of a node whose kubelet does nothing, and of a candidate whose replica hangs."""
HEALTHY = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}


class Bystander(ABC):
    """Takes a turn at once and then every `every` seconds, between `with` and its end."""

    def __init__(self, sim: Simulation, cluster: EmbeddedCluster, *, every: float) -> None:
        self.host = sim.host("bystander")
        self.client = Client(self.host, InProcessTransport(self.host, cluster.server))
        self._every = every
        self._stop = Stop(self.host, "bystander stop")
        self._thread: Thread | None = None

    @abstractmethod
    def turn(self) -> None: ...

    def __enter__(self) -> Self:
        self._thread = spawn(self.host, self._stop, "bystander", self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join_until(None)
        if self._stop.failure is not None:
            raise self._stop.failure

    def _run(self) -> None:
        while not self._stop.is_set():
            self.turn()
            self._stop.wait(self._every)


class Kubelets(Bystander):
    """Renews the lease of each node that is not `SILENT`, posts that it is ready, and ends its deleted pods."""

    def __init__(self, sim: Simulation, cluster: EmbeddedCluster, *, every: float = 20.0) -> None:
        super().__init__(sim, cluster, every=every)

    def turn(self) -> None:
        alive = [node for node in self.client.list(NODES, view=dict) if SILENT not in annotations_of(node)]
        for node in alive:
            self._renew(node["metadata"]["name"])
            self._post(node)
        names = {node["metadata"]["name"] for node in alive}
        for pod in self.client.list(PODS, view=dict):
            if "deletionTimestamp" in pod["metadata"] and pod["spec"].get("nodeName") in names:
                key = ObjectKey(pod["metadata"]["name"], pod["metadata"]["namespace"])
                self.client.delete(PODS, key, grace_period_seconds=0)

    def _renew(self, node: str) -> None:
        now = microtime(self.host.now())
        try:
            self.client.patch(LEASES, ObjectKey(node, NAMESPACE), {"spec": {"renewTime": now}})
        except NotFound:
            self.client.create(LEASES, a_lease(node, NAMESPACE, holder=node, duration=DURATION, renew_time=now))

    def _post(self, node: dict[str, Any]) -> None:
        conditions = node.get("status", {}).get("conditions", [])
        if {each["type"]: each["status"] for each in conditions} != HEALTHY:
            now = timestamp(self.host.now())
            times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
            posted = [
                {"type": kind, "status": status, "reason": "Kubelet", "message": "", **times}
                for kind, status in HEALTHY.items()
            ]
            key, patch = ObjectKey(node["metadata"]["name"]), {"status": {"conditions": posted}}
            self.client.patch(NODES, key, patch, type=PatchType.STRATEGIC, subresource="status")


class Replicas(Bystander):
    """Answers the pings of each candidate that is not `SILENT`, and renews the lease of the one that holds it.

    A holder that is no more the preferred one lets the lease expire.
    """

    def __init__(self, sim: Simulation, cluster: EmbeddedCluster, lease: ObjectKey, *, every: float = 4.0) -> None:
        super().__init__(sim, cluster, every=every)
        self._lease = lease

    def turn(self) -> None:
        found = self.client.list(LEASE_CANDIDATES, self._lease.namespace, view=dict)
        alive = [each for each in found if SILENT not in annotations_of(each)]
        for candidate in alive:
            spec = candidate["spec"]
            if spec.get("pingTime", "") > spec.get("renewTime", ""):
                self._write(LEASE_CANDIDATES, candidate, {"renewTime": microtime(self.host.now())})
        try:
            lease = self.client.get(LEASES, self._lease, dict)
        except NotFound:
            return
        holder, preferred = (lease["spec"].get(name) or "" for name in ("holderIdentity", "preferredHolder"))
        if holder in {each["metadata"]["name"] for each in alive} and preferred in ("", holder):
            self._write(LEASES, lease, {"renewTime": microtime(self.host.now())})

    def _write(self, resource: Any, found: dict[str, Any], spec: dict[str, Any]) -> None:
        metadata = found["metadata"]
        key, version = ObjectKey(metadata["name"], metadata["namespace"]), metadata["resourceVersion"]
        with suppress(Conflict, NotFound):  # the next turn sees what it is now
            self.client.patch(resource, key, {"metadata": {"resourceVersion": version}, "spec": spec})
