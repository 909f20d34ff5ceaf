# SPDX-License-Identifier: Apache-2.0
"""The pods of hollow nodes: what their kubelets would do for pods without containers, and pods to try it with.

A pod that is bound to a hollow node whose kubelet runs is said to be Running and
Ready, and one that is deleted goes. On a node whose kubelet does not run nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from controller_runtime.api.objects import ObjectKey, timestamp
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.workers import Workers
from controller_runtime.core.backoff import Backoff
from controller_runtime.core.errors import AlreadyExists, Conflict, ControllerRuntimeError, NotFound
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.workqueue import WorkQueue
from controllers.hollow.node import node_name
from controllers.shared.pods_by_node import pods_by_node

log = get_logger(__name__)

WORKERS = 4
CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
"""What a kubelet says of a pod that runs, in its order; all of it True."""
NAMESPACE = "default"
RETRY = Backoff(initial=0.1, factor=2.0, cap=10.0, jitter=0.0)
"""Of a creation that failed."""


class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    uid: str = ""
    deletion_timestamp: str | None = None


class _Container(msgspec.Struct, gc=False):
    name: str = ""
    image: str = ""

    def running(self, since: str) -> dict[str, Any]:
        """What a kubelet says of it while it runs."""
        fixed = {"imageID": "", "ready": True, "started": True, "restartCount": 0}
        return {"name": self.name, "image": self.image, **fixed, "state": {"running": {"startedAt": since}}}


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""
    containers: list[_Container] = msgspec.field(default_factory=list)


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False):
    phase: str = ""
    conditions: list[_Condition] | None = None


class PodView(msgspec.Struct, gc=False):
    """The part of a pod that its hollow kubelet reads."""

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def false(self) -> list[str]:
        """The conditions of a pod that runs which it is not said to have."""
        found = {condition.type: condition.status for condition in self.status.conditions or ()}
        return [kind for kind in CONDITIONS if found.get(kind) != "True"]


class HollowPods(Reconciler):
    """Says that a pod runs, or lets it go if it was deleted, as long as its node's kubelet runs.

    A pod that has ended (`Succeeded`, `Failed`) stays as it is. A runnable, as kubelets
    run whoever leads.

    Args:
        manager: Whose pods.
        is_running: Whether there is a hollow node of that name, and its kubelet runs.
        workers: Pods looked at at the same time.

    Threads: `run` from one, once.
    """

    name = "hollow-pods"

    def __init__(self, manager: Manager, is_running: Callable[[str], bool], *, workers: int = WORKERS) -> None:
        self._host = manager.host
        self._client = manager.client
        self._is_running = is_running
        self._workers = workers
        self._pods_on = pods_by_node(manager)
        self._informers = manager.informer(PODS), manager.informer(NODES)
        self._pods = manager.lister(PODS, PodView)
        self._queue: WorkQueue[Request] = WorkQueue(manager.host, name=self.name)

    def run(self, stop: Stop) -> None:
        """Look after the pods until asked to stop."""
        pods, nodes = self._informers
        told = [pods.add_handler(self._hear_of_pod), nodes.add_handler(self._hear_of_node)]
        workers = Workers(self._host, self.name, self, self._queue, stop)
        stop.on_set(self._queue.shut_down)
        workers.start(self._workers)
        workers.join_until(None)
        for each in told:
            each.remove()

    def _hear_of_pod(self, delta: Delta) -> None:
        if delta.new is not None:
            self._queue.add(delta.key)

    def _hear_of_node(self, delta: Delta) -> None:
        """A kubelet that is back posts its node's status, which is how its pods hear of it."""
        if delta.new is not None and self._is_running(delta.key.name):
            for pod in self._pods_on(delta.key.name):
                self._queue.add(pod)

    def reconcile(self, request: Request) -> Result:
        """Do what the kubelet of the pod's node would."""
        pod = self._pods.get(request)
        if pod is None or not self._is_running(pod.spec.node_name):
            return Result()
        try:
            if pod.metadata.deletion_timestamp is not None:
                self._client.delete(PODS, request, uid=pod.metadata.uid, grace_period_seconds=0)
            elif pod.status.phase in ("", "Pending", "Running") and (pod.false or pod.status.phase != "Running"):
                self._say_it_runs(request, pod)
        except (NotFound, Conflict):  # it has gone, perhaps for another, of which the cache will tell
            return Result()
        return Result()

    def _say_it_runs(self, key: ObjectKey, pod: PodView) -> None:
        now = timestamp(self._host.now())
        status: dict[str, Any] = {
            "phase": "Running",
            "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in pod.false],
        }
        if pod.status.phase != "Running":
            whole = self._client.get(PODS, key, PodView)  # caches may leave the containers out
            containers = [container.running(now) for container in whole.spec.containers]
            status |= {"startTime": now, "containerStatuses": containers}
        patch = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        self._client.patch(PODS, key, patch, type=PatchType.STRATEGIC, subresource="status")


def hollow_pod(index: int, nodes: int, *, toleration_seconds: int | None = None) -> dict[str, Any]:
    """A pod on one of the first `nodes` hollow nodes, which have the pods in turn.

    Args:
        index: Which one, from zero.
        nodes: How many hollow nodes there are.
        toleration_seconds: How long it stays on a node that is not ready or not reachable;
            None leaves that to the API server, which says 300.
    """
    spec: dict[str, Any] = {
        "nodeName": node_name(index % nodes),
        "containers": [{"name": "main", "image": "hollow"}],
    }
    if toleration_seconds is not None:
        spec["tolerations"] = [
            {
                "key": f"node.kubernetes.io/{taint}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": toleration_seconds,
            }
            for taint in ("not-ready", "unreachable")
        ]
    return {
        "metadata": {"name": f"hollow-pod-{index:05d}", "namespace": NAMESPACE, "labels": {"type": "hollow"}},
        "spec": spec,
    }


class PodMaker:
    """Creates `count` pods, spread over the hollow nodes; a runnable that ends when they are there.

    Those that exist already are left as they are. Nothing makes them anew once they were deleted.

    Args:
        host: What it runs on.
        client: Creates them.
        count: How many pods.
        nodes: How many hollow nodes there are.
        toleration_seconds: As for `hollow_pod`.

    Threads: `run` from one, once.
    """

    name = "hollow-pods/maker"

    def __init__(
        self, host: Host, client: Client, count: int, nodes: int, *, toleration_seconds: int | None = None
    ) -> None:
        self._host = host
        self._client = client
        self._pods = (hollow_pod(i, nodes, toleration_seconds=toleration_seconds) for i in range(count))
        self._count = count

    def run(self, stop: Stop) -> None:
        """Create them all, unless asked to stop before."""
        for pod in self._pods:
            failures = 0
            while not self._create(pod, failures):
                failures += 1
                if stop.wait(RETRY.delay(failures, self._host.random)):
                    return
            if stop.is_set():
                return
        log.info("hollow pods created", pods=self._count)

    def _create(self, pod: dict[str, Any], failures: int) -> bool:
        try:
            self._client.create(PODS, pod)
        except AlreadyExists:
            return True
        except ControllerRuntimeError as error:
            tell = log.warning if failures == 0 else log.debug
            tell("hollow pod cannot be created, trying again", pod=pod["metadata"]["name"], error=error)
            return False
        return True
