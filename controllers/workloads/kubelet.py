# SPDX-License-Identifier: Apache-2.0
"""The kubelets of hollow nodes for pods that live as their annotations say."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.store import Delta
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.workers import Workers
from controller_runtime.core.errors import Conflict, NotFound
from controller_runtime.core.stop import Stop
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.workqueue import WorkQueue
from controllers.hollow.addresses import PodAddresses
from controllers.shared.pods_by_node import pods_by_node
from controllers.workloads.pod_life import LivingPod, next_step

WORKERS = 4
"""Number of pods that are reconciled at the same time."""


class LivingPods(Reconciler):
    """Posts the life of each pod on a node whose kubelet runs, and removes pods that are marked for deletion.

    It is a runnable and not a controller, because kubelets do not wait for leadership.

    Args:
        manager: Its client and its caches of pods and nodes are used. The cached pods need their annotations.
        is_running: Tells whether the kubelet of the node of that name is one of these and runs.
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
        self._pods = manager.lister(PODS, LivingPod)
        self._addresses = PodAddresses(manager.host)
        self._queue: WorkQueue[Request] = WorkQueue(manager.host, name=self.name)

    def run(self, stop: Stop) -> None:
        """Reconcile the pods until asked to stop."""
        pods, nodes = self._informers
        known = self._pods.keys()
        for key in known:  # before any pod gets an address
            self._note_address(key)
        subscriptions = [pods.add_handler(self._on_pod), nodes.add_handler(self._on_node)]
        workers = Workers(self._host, self.name, self, self._queue, stop)
        stop.on_set(self._queue.shut_down)
        workers.start(self._workers)
        workers.join_until(None)
        for each in subscriptions:
            each.remove()

    def reconcile(self, request: Request) -> Result:
        """Post the next step of a pod's life, or remove it if it is marked for deletion."""
        pod = self._pods.get(request)
        if pod is None or not self._is_running(pod.spec.node_name):
            return Result()
        try:
            if pod.metadata.deletion_timestamp is not None:
                self._client.delete(PODS, request, uid=pod.metadata.uid, grace_period_seconds=0)
                return Result()
            step = next_step(pod, self._host.now(), pod.status.pod_ip or self._addresses.give(request))
            if step.status is not None:
                patch = {"metadata": {"uid": pod.metadata.uid}, "status": step.status}
                self._client.patch(PODS, request, patch, type=PatchType.STRATEGIC, subresource="status")
        except (NotFound, Conflict):  # the pod was deleted, or replaced by another one, which the cache will deliver
            return Result()
        return Result(requeue_after=step.wait)

    def _on_pod(self, delta: Delta) -> None:
        self._note_address(delta.key)
        if delta.new is not None:
            self._queue.add(delta.key)

    def _note_address(self, key: ObjectKey) -> None:
        """Take note of the address that a pod has by its status, unless it was given one that is not posted yet."""
        pod = self._pods.get(key)
        if pod is None or pod.status.phase in ("Succeeded", "Failed"):
            self._addresses.see(key, "")
        elif pod.status.pod_ip:
            self._addresses.see(key, pod.status.pod_ip)

    def _on_node(self, delta: Delta) -> None:
        """Add to the queue the pods of a node that changed: a kubelet that runs again posts the status of its node."""
        if delta.new is not None and self._is_running(delta.key.name):
            for pod in self._pods_on(delta.key.name):
                self._queue.add(pod)
