# SPDX-License-Identifier: Apache-2.0
"""The pods of hollow nodes: the work of a kubelet for pods without containers, and pods to try it with.

A pod that is bound to a hollow node whose kubelet runs gets the status Running and Ready, and a pod that is
marked for deletion is removed. Nothing happens to the pods of a node whose kubelet does not run.
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
"""Number of pods that are reconciled at the same time."""
CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
"""Conditions of a pod that runs, all of them True, in a kubelet's order."""
NAMESPACE = "default"
"""Namespace of the pods that `PodMaker` creates."""
RETRY = Backoff(initial=0.1, factor=2.0, cap=10.0, jitter=0.0)
"""Seconds between two tries to create a pod."""


# Not `ObjectMeta`: its annotations are left out of the caches that `trim_caches` trims, and a test holds that no
# view of a cached pod reads them.
class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    uid: str = ""
    deletion_timestamp: str | None = None


class _Container(msgspec.Struct, gc=False):
    name: str = ""
    image: str = ""

    def running(self, since: str) -> dict[str, Any]:
        """Return the status that a kubelet posts for the container while it runs."""
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


class HollowPod(msgspec.Struct, gc=False):
    """The part of a pod that its hollow kubelet reads."""

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def missing_conditions(self) -> list[str]:
        """Types of the conditions of a running pod that are not True yet."""
        found = {condition.type: condition.status for condition in self.status.conditions or ()}
        return [kind for kind in CONDITIONS if found.get(kind) != "True"]


class HollowPods(Reconciler):
    """Posts that a pod runs, or removes it if it is marked for deletion, as long as the kubelet of its node runs.

    A pod that has ended (`Succeeded`, `Failed`) stays as it is. This is a runnable and not a controller, because
    kubelets do not wait for leadership.

    Args:
        manager: Its client and its caches of pods and nodes are used.
        is_running: Tells whether there is a hollow node of that name whose kubelet runs.
        workers: Number of pods that are reconciled at the same time.

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
        self._pods = manager.lister(PODS, HollowPod)
        self._queue: WorkQueue[Request] = WorkQueue(manager.host, name=self.name)

    def run(self, stop: Stop) -> None:
        """Reconcile the pods of hollow nodes until asked to stop."""
        pods, nodes = self._informers
        subscriptions = [pods.add_handler(self._on_pod), nodes.add_handler(self._on_node)]
        workers = Workers(self._host, self.name, self, self._queue, stop)
        stop.on_set(self._queue.shut_down)
        workers.start(self._workers)
        workers.join_until(None)
        for each in subscriptions:
            each.remove()

    def _on_pod(self, delta: Delta) -> None:
        if delta.new is not None:
            self._queue.add(delta.key)

    def _on_node(self, delta: Delta) -> None:
        """Add to the queue the pods of a node that changed.

        A revived kubelet posts the status of its node, and this change brings its pods back into the queue.
        """
        if delta.new is not None and self._is_running(delta.key.name):
            for pod in self._pods_on(delta.key.name):
                self._queue.add(pod)

    def reconcile(self, request: Request) -> Result:
        """Post that the pod runs, or remove it if it is marked for deletion; nothing if its kubelet does not run."""
        pod = self._pods.get(request)
        if pod is None or not self._is_running(pod.spec.node_name):
            return Result()
        try:
            if pod.metadata.deletion_timestamp is not None:
                self._client.delete(PODS, request, uid=pod.metadata.uid, grace_period_seconds=0)
            elif pod.status.phase in ("", "Pending", "Running") and (
                pod.missing_conditions or pod.status.phase != "Running"
            ):
                self._post_running(request, pod)
        except (NotFound, Conflict):  # the pod was deleted, or replaced by another one, which the cache will deliver
            return Result()
        return Result()

    def _post_running(self, key: ObjectKey, pod: HollowPod) -> None:
        """Post the status of a running pod; the uid in the patch makes it a conflict if the pod was replaced."""
        now = timestamp(self._host.now())
        status: dict[str, Any] = {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": now} for kind in pod.missing_conditions
            ],
        }
        if pod.status.phase != "Running":
            whole = self._client.get(
                PODS, key, HollowPod
            )  # from the server, because caches may leave the containers out
            containers = [container.running(now) for container in whole.spec.containers]
            status |= {"startTime": now, "containerStatuses": containers}
        patch = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        self._client.patch(PODS, key, patch, type=PatchType.STRATEGIC, subresource="status")


def hollow_pod(index: int, nodes: int, *, toleration_seconds: int | None = None) -> dict[str, Any]:
    """Return a pod that is bound to one of the hollow nodes, which get the pods in turn.

    Args:
        index: Index of the pod, counted from zero.
        nodes: Number of hollow nodes.
        toleration_seconds: Seconds for which the pod stays on a node that is not ready or not reachable;
            None leaves that to the API server, which sets 300.
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
    """Creates `count` pods, spread over the hollow nodes; a runnable that ends once all of them exist.

    Pods that exist already are left as they are. Pods that are deleted later are not created again.

    Args:
        host: Waits between two tries.
        client: Creates the pods.
        count: Number of pods.
        nodes: Number of hollow nodes.
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
        """Create all pods, unless asked to stop before; a creation that fails is tried again until it succeeds."""
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
        """Create the pod, and tell whether it exists now."""
        try:
            self._client.create(PODS, pod)
        except AlreadyExists:
            return True
        except ControllerRuntimeError as error:
            write_log = log.warning if failures == 0 else log.debug
            write_log("cannot create a hollow pod, trying again", pod=pod["metadata"]["name"], error=error)
            return False
        return True
