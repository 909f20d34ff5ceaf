# SPDX-License-Identifier: Apache-2.0
"""Marks the pods of a silent node as not ready, so that services stop sending them requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from apimachinery.errors import ControllerRuntimeError, DecodeError, NotFound
from apimachinery.host import Clock, Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey, timestamp
from controller_runtime.api.resources import PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Request
from controller_runtime.events.recorder import EventRecorder
from controllers.node_lifecycle.monitor import Monitor
from controllers.node_lifecycle.views import MonitoredPodView
from controllers.shared.views import node_of

log = get_logger(__name__)


@attrs.define
class MarkingProgress:
    """The progress of one pass over the pods of a node; a pass may take several reconciles.

    Attributes:
        tried: The pods that were tried: marked or failed.
        failures: The errors of the failed ones.

    Threads: the one that reconciles the node.
    """

    tried: set[ObjectKey] = attrs.field(factory=set)
    failures: list[str] = attrs.field(factory=list)


class PendingPods:
    """The nodes whose pods must still be marked as not ready, each with its progress (a pass).

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        # Guards the progress by the name of the node.
        self._lock = host.lock("pods to mark")
        self._passes: dict[str, MarkingProgress] = {}

    def add(self, name: str) -> None:
        """Begin to mark all pods of a node as not ready."""
        with self._lock:
            self._passes[name] = MarkingProgress()

    def clear(self, name: str) -> None:
        """End the pass: all pods of the node are marked as not ready, or the node's Ready condition is no longer
        Unknown.
        """
        with self._lock:
            self._passes.pop(name, None)

    def progress(self, name: str) -> MarkingProgress | None:
        """Return the progress of marking the pods of a node as not ready; None if no marking is in progress."""
        with self._lock:
            return self._passes.get(name)


@attrs.frozen
class PodMarker:
    """Sets the Ready condition of pods to False.

    Attributes:
        clock: The source of the time: monotonic for the end of `mark_some`, wall for the times in conditions.
        client: Writes the pods.
        pods: The cache of pods.
        pods_of: Returns the names of the pods that are bound to a node.
        recorder: Receives the events on pods.
        monitor: Keeps which nodes are not ready.

    Threads: any.
    """

    clock: Clock
    client: Client
    pods: Lister[MonitoredPodView]
    pods_of: Callable[[str], Iterable[ObjectKey]]
    recorder: EventRecorder
    monitor: Monitor

    def placed(self, delta: Delta) -> Iterable[Request]:
        """Return a request for the pod if it was just bound to a node that is not ready."""
        name = node_of(delta.new)
        if delta.initial or not name or name == node_of(delta.old) or not self.monitor.is_not_ready(name):
            return ()
        return (delta.key,)

    def mark_late(self, key: ObjectKey) -> None:
        """Mark one pod that was bound to a node after the node's other pods were marked.

        Raises:
            ControllerRuntimeError: The pod could not be read or written.
        """
        pod = self.pods.get(key)
        if pod is not None and self.monitor.is_not_ready(pod.node_name):
            self._mark(pod)

    def mark_some(self, name: str, so_far: MarkingProgress, until: float) -> bool:
        """Continue to mark the pods of a node; return True once all of them have been tried.

        It stops at the time `until`, so that neither a node that becomes ready again nor other nodes wait until the
        writes of all pods have timed out. A pod that cannot be decoded is logged and skipped.

        Args:
            name: The node's name.
            so_far: The progress of this pass, which is updated.
            until: The time after which no further pod is started, in monotonic seconds.
        """
        for request in self.pods_of(name):
            if request in so_far.tried:
                continue
            if self.clock.monotonic() >= until:
                return False
            so_far.tried.add(request)
            try:
                pod = self.pods.get(request)
                if pod is not None:
                    self._mark(pod)
            except DecodeError as error:
                log.warning("pod left alone: it cannot be read", node=name, pod=request, error=error)
            except ControllerRuntimeError as error:
                so_far.failures.append(f"{request}: {error}")
        if so_far.failures:
            failures = so_far.failures
            log.warning("pods could not be marked yet", node=name, pods=len(failures), first=failures[0])
        return True

    def _mark(self, pod: MonitoredPodView) -> None:
        if pod.ready in (None, "False"):  # no kubelet has reported the pod yet, or it is marked
            return
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": timestamp(self.clock.now())}
        patch = {
            "metadata": {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version},
            "status": {"conditions": [condition]},
        }
        try:
            self.client.patch(PODS, pod.key, patch, type=PatchType.STRATEGIC, subresource="status")
        except NotFound:
            return
        self.recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready", resource=PODS)
