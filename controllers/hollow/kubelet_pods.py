# SPDX-License-Identifier: Apache-2.0
"""The work that all hollow kubelets share: which pods are looked at when, and the addresses of pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.store import Delta
from controller_runtime.controller.reconciler import Reconciler, Request
from controller_runtime.controller.workers import Workers
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.workqueue import WorkQueue
from controllers.hollow.addresses import PodAddresses
from controllers.shared.pods_by_node import pods_by_node

WORKERS = 4
"""Number of pods that are reconciled at the same time."""


class _KubeletPodStatus(Protocol):
    @property
    def phase(self) -> str: ...

    @property
    def pod_ip(self) -> str: ...


class KubeletPod(Protocol):
    """The fields of a pod that each hollow kubelet reads."""

    @property
    def status(self) -> _KubeletPodStatus:
        """The status: the phase, and the pod's address (empty if it has none)."""


P = TypeVar("P", bound=KubeletPod)


class KubeletPods(Reconciler, Generic[P]):
    """Reconciles each pod when it changes, and the pods of a hollow node when that changes while its kubelet runs.

    A subclass implements `reconcile`, which gets the pods of other nodes, too.

    This is a runnable and not a controller, because kubelets do not wait for leadership.

    Args:
        manager: The manager, whose client and caches of pods and nodes are used.
        is_running: Returns whether there is a hollow node of that name whose kubelet runs.
        view: The class into which cached pods are decoded.
        workers: The most pods that are reconciled at the same time.

    Threads: call `run` once, from any thread.
    """

    name = "hollow-pods"

    def __init__(
        self, manager: Manager, is_running: Callable[[str], bool], view: type[P], *, workers: int = WORKERS
    ) -> None:
        self._host = manager.host
        self._client = manager.client
        self._is_running = is_running
        self._workers = workers
        self._pods_on = pods_by_node(manager)
        self._informers = manager.informer(PODS), manager.informer(NODES)
        self._pods = manager.lister(PODS, view)
        self._addresses = PodAddresses(manager.host)
        self._queue: WorkQueue[Request] = WorkQueue(manager.host, name=self.name)

    def run(self, stop: Stop) -> None:
        """Reconcile the pods of hollow nodes until `stop` is set."""
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

    def _on_pod(self, delta: Delta) -> None:
        self._note_address(delta.key)
        if delta.new is not None:
            self._queue.add(delta.key)

    def _note_address(self, key: ObjectKey) -> None:
        """Take note of the address that a pod has, so that no other gets it; a pod that has ended has none.

        A pod keeps an address that it was given and that is not posted yet.
        """
        pod = self._pods.get(key)
        if pod is None or pod.status.phase in ("Succeeded", "Failed"):
            self._addresses.see(key, "")
        elif pod.status.pod_ip:
            self._addresses.see(key, pod.status.pod_ip)

    def _on_node(self, delta: Delta) -> None:
        """Add to the queue the pods of a node that changed.

        A revived kubelet posts the status of its node, and this change brings its pods back into the queue.
        """
        if delta.new is not None and self._is_running(delta.key.name):
            for pod in self._pods_on(delta.key.name):
                self._queue.add(pod)
