# SPDX-License-Identifier: Apache-2.0
"""Keeps one pod of a DaemonSet on each node where it belongs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import attrs

from apimachinery.host import Clock
from apimachinery.objects import ObjectKey
from apimachinery.selectors import LabelSelector
from controller_runtime.api.builtin_resources import DAEMON_SETS
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.workloads.children import Children
from controllers.workloads.daemon_set_plan import DaemonSet, node_of, plan, pod_for, status_of
from controllers.workloads.pods import Pod
from controllers.workloads.revisions import REVISION_HASH, REVISIONS, ControllerRevision, history_of, surplus
from controllers.workloads.scheduler_plan import Node
from controllers.workloads.status import write_status
from controllers.workloads.templates import pod_of

NAME = "daemonset-controller"


@attrs.frozen
class DaemonSets(Reconciler):
    """Creates missing pods on nodes, deletes surplus ones, and replaces outdated ones in steps."""

    manager: Manager
    daemon_sets: Lister[DaemonSet]
    nodes: Lister[Node]
    pods: Children[Pod]
    revisions: Children[ControllerRevision]
    recorder: EventRecorder
    clock: Clock

    def reconcile(self, request: Request) -> Result:
        """Take the next step for a DaemonSet, and write its status."""
        daemon_set = self.daemon_sets.get(request)
        if daemon_set is None:
            self.pods.forget(request)
            self.revisions.forget(request)
            return Result()
        selector = LabelSelector.from_object(daemon_set.spec.selector)
        pods = self.pods.claim(daemon_set, selector)
        present = self.revisions.claim(daemon_set, selector)
        if pods is None or present is None or daemon_set.metadata.deletion_timestamp is not None:
            return Result()
        collisions = int(daemon_set.status.get("collisionCount", 0))
        history = history_of(
            self.revisions,
            daemon_set,
            daemon_set.spec.template,
            present,
            collisions,
            label=REVISION_HASH,
            annotations=daemon_set.metadata.annotations,
        )
        now, found = self.clock.now(), history.update.hash
        by_node, nodes = self._by_node(pods), self.nodes.list()
        planned = plan(daemon_set, nodes, by_node, found, now)
        for node in planned.create:
            made = self.pods.create(
                daemon_set, pod_of(pod_for(daemon_set, node, found), generate_name=f"{request.name}-")
            )
            self._tell(daemon_set, "SuccessfulCreate", f"Created pod: {made.name}")
        for pod in planned.delete:
            if self.pods.delete(daemon_set, pod):
                self._tell(daemon_set, "SuccessfulDelete", f"Deleted pod: {pod.name}")
        status = status_of(daemon_set, nodes, by_node, found, now)
        write_status(self.manager.client, DAEMON_SETS, daemon_set.metadata, daemon_set.status, status)
        hashes = {pod.labels.get(REVISION_HASH, "") for pod in pods}
        in_use = {each.name for each in history.all if each.hash in hashes}
        for each in surplus(history, in_use, daemon_set.spec.revision_history_limit):
            self.revisions.delete(daemon_set, each)
        return Result(requeue_after=planned.wait)

    def _by_node(self, pods: Sequence[Pod]) -> Mapping[str, Sequence[Pod]]:
        found: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in pods:
            found[node_of(pod, pod.spec.affinity)].append(pod)
        return found

    def _tell(self, daemon_set: DaemonSet, reason: str, message: str) -> None:
        self.recorder.event(daemon_set, "Normal", reason, message, resource=DAEMON_SETS)


def daemon_set_controller(manager: Manager, *, workers: int = 2) -> Controller:
    """Return the controller that keeps a pod of each DaemonSet on its nodes, ready to be added to `manager`."""
    daemon_sets = manager.lister(DAEMON_SETS, DaemonSet)

    def selectors(namespace: str) -> Iterable[tuple[ObjectKey, LabelSelector]]:
        for each in daemon_sets.list(namespace):
            yield ObjectKey(each.metadata.name, namespace), LabelSelector.from_object(each.spec.selector)

    def all_of(_: Delta) -> Iterable[Request]:
        return daemon_sets.keys()

    pods: Children[Pod] = Children(manager, DAEMON_SETS, PODS, Pod, selectors)
    revisions: Children[ControllerRevision] = Children(manager, DAEMON_SETS, REVISIONS, ControllerRevision, selectors)
    nodes = manager.lister(NODES, Node)
    recorder = manager.recorder(NAME, api=EventAPI.CORE)
    reconciler = DaemonSets(manager, daemon_sets, nodes, pods, revisions, recorder, manager.host)
    controller = Controller(NAME, reconciler, workers=workers).watch(DAEMON_SETS).watch(NODES, map=all_of)
    return controller.watch(PODS, map=pods.requests).watch(REVISIONS, map=revisions.requests)
