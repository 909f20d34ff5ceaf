# SPDX-License-Identifier: Apache-2.0
"""Binds each pod that waits for a node to one on which it fits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from apimachinery.errors import Conflict, NotFound
from apimachinery.objects import ObjectKey
from controller_runtime.api.conditions import with_condition
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.store import Delta
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventAPI
from controller_runtime.manager.manager import Manager
from controllers.shared.views import phase_of
from controllers.workloads.pods import ENDED
from controllers.workloads.scheduler_plan import SCHEDULER, Choice, Node, WaitingPod, choose

NAME = SCHEDULER


class Scheduler(Reconciler):
    """Binds waiting pods to nodes, one at a time, so that two pods never take the same capacity.

    Args:
        manager: The manager, whose client and caches of pods and nodes are used.

    Threads: one at a time.
    """

    def __init__(self, manager: Manager) -> None:
        self._client = manager.client
        self._clock = manager.host
        self._pods = manager.lister(PODS, WaitingPod)
        self._nodes = manager.lister(NODES, Node)
        self._recorder = manager.recorder(NAME, api=EventAPI.CORE)
        # The node of each pod, by its uid, that was bound here and that the cache may not show as bound yet. Used by
        # the one worker alone.
        self._bound: dict[str, str] = {}

    def snapshot(self, request: Request) -> dict[str, str]:
        """Return the nodes of the bound pods that the cache may not show yet, for records of reconciles."""
        return dict(self._bound)

    def restore(self, request: Request, state: dict[str, str]) -> None:
        """Set the state that `snapshot` returned."""
        self._bound = dict(state)

    def reconcile(self, request: Request) -> Result:
        """Bind the pod if it waits for a node and fits on one; otherwise write the reasons into its status."""
        pod = self._pods.get(request)
        if pod is None or pod.spec.node_name or pod.spec.scheduler_name != SCHEDULER or pod.spec.scheduling_gates:
            return Result()
        if pod.metadata.deletion_timestamp is not None or not pod.takes_room or pod.metadata.uid in self._bound:
            return Result()
        nodes = self._nodes.list()
        choice = choose(pod, nodes, self._by_node())
        try:
            if choice.node:
                self._bind(request, pod, choice.node)
            else:
                self._refuse(request, pod, choice, len(nodes))
        except (NotFound, Conflict):  # deleted, replaced or bound by another client; the cache will deliver it
            pass
        return Result()

    def waiting(self, delta: Delta) -> Iterable[Request]:
        """Return the pods that wait for a node: a change of a node or the end of a pod may free capacity for them."""
        return [
            ObjectKey(each.metadata.name, each.metadata.namespace)
            for each in self._pods.list()
            if not each.spec.node_name and each.takes_room
        ]

    def concerned(self, delta: Delta) -> Iterable[Request]:
        """Return the pod that changed; if it was deleted or has ended, the waiting pods instead."""
        if delta.new is None or (phase_of(delta.new) in ENDED and delta.old and phase_of(delta.old) not in ENDED):
            return self.waiting(delta)
        return [delta.key]

    def _by_node(self) -> dict[str, list[WaitingPod]]:
        found: defaultdict[str, list[WaitingPod]] = defaultdict(list)
        unseen: dict[str, str] = {}
        for pod in self._pods.list():
            node = pod.spec.node_name or self._bound.get(pod.metadata.uid, "")
            if not pod.spec.node_name and node:
                unseen[pod.metadata.uid] = node
            if node:
                found[node].append(pod)
        self._bound = unseen
        return found

    def _bind(self, key: ObjectKey, pod: WaitingPod, node: str) -> None:
        body = {"metadata": {"uid": pod.metadata.uid}, "target": {"kind": "Node", "name": node}}
        self._client.create_subresource(PODS, key, "binding", body)
        self._bound[pod.metadata.uid] = node
        text = f"Successfully assigned {key} to {node}"
        self._recorder.event(pod, "Normal", "Scheduled", text, action="Binding", resource=PODS)

    def _refuse(self, key: ObjectKey, pod: WaitingPod, choice: Choice, nodes: int) -> None:
        message = choice.message(nodes)
        present = pod.status.conditions or []
        now = self._clock.now()
        made = with_condition(present, "PodScheduled", "False", reason="Unschedulable", message=message, now=now)
        if [*made] != present:
            condition = next(each for each in made if each["type"] == "PodScheduled")
            patch = {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}}
            self._client.patch(PODS, key, patch, type=PatchType.STRATEGIC, subresource="status")
            self._recorder.event(pod, "Warning", "FailedScheduling", message, action="Scheduling", resource=PODS)


def scheduler(manager: Manager) -> Controller:
    """Return the controller that assigns waiting pods to nodes, ready to be added to `manager`."""
    reconciler = Scheduler(manager)
    controller = Controller(NAME, reconciler, workers=1)
    return controller.watch(PODS, map=reconciler.concerned).watch(NODES, map=reconciler.waiting)
