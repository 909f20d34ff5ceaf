# SPDX-License-Identifier: Apache-2.0
"""Keeps the pods of a StatefulSet, each with a name and volumes of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from apimachinery.errors import AlreadyExists, APIError
from apimachinery.host import Clock
from apimachinery.objects import ObjectKey
from apimachinery.selectors import LabelSelector
from controller_runtime.api.builtin_resources import STATEFUL_SETS
from controller_runtime.api.resources import PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.workloads.children import Children
from controllers.workloads.claims import Claims, volumes_for
from controllers.workloads.pods import Pod
from controllers.workloads.revisions import REVISION_HASH, REVISIONS, ControllerRevision, History, history_of, surplus
from controllers.workloads.stateful_set_plan import StatefulSet, plan, status_of
from controllers.workloads.status import write_status
from controllers.workloads.templates import pod_of

NAME = "statefulset-controller"
POD_NAME, POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"


@attrs.frozen
class StatefulSets(Reconciler):
    """Takes the steps of StatefulSets: one pod at a time if pods are ordered, otherwise all pods at once."""

    manager: Manager
    stateful_sets: Lister[StatefulSet]
    pods: Children[Pod]
    revisions: Children[ControllerRevision]
    claims: Claims
    recorder: EventRecorder
    clock: Clock

    def reconcile(self, request: Request) -> Result:
        """Create, delete or replace the next pods, and write the status."""
        if self.pods.is_behind(request):
            return Result()
        stateful_set = self.stateful_sets.get(request)
        if stateful_set is None:
            self.pods.forget(request)
            self.revisions.forget(request)
            return Result()
        selector = LabelSelector.from_object(stateful_set.spec.selector)
        pods = self.pods.claim(stateful_set, selector)
        present = self.revisions.claim(stateful_set, selector)
        if pods is None or present is None:
            return Result()
        collisions = int(stateful_set.status.get("collisionCount", 0))
        history = history_of(self.revisions, stateful_set, stateful_set.spec.template, present, collisions)
        before = history.named(stateful_set.status.get("currentRevision", "")) or history.update
        now = self.clock.now()
        planned = plan(stateful_set, pods, before.name, history.update.name, now)
        if stateful_set.metadata.deletion_timestamp is None:
            self.claims.keep_owners(stateful_set, pods)
            for ordinal, revision in planned.create:
                self._create(stateful_set, ordinal, history.named(revision) or history.update)
            for pod in planned.delete:
                self._delete(stateful_set, pod)
        status = status_of(stateful_set, pods, before.name, history.update.name, history.collisions, now)
        written = write_status(self.manager.client, STATEFUL_SETS, stateful_set.metadata, stateful_set.status, status)
        if written is not None:  # it says which revision is the current one
            self.pods.wait_for(stateful_set, self.stateful_sets, written)
        self._prune(stateful_set, history, pods, before)
        return Result(requeue_after=planned.wait)

    def _create(self, stateful_set: StatefulSet, ordinal: int, revision: ControllerRevision) -> None:
        """Create the claims of a pod, then the pod."""
        name = f"{stateful_set.metadata.name}-{ordinal}"
        owner = stateful_set.metadata.name
        for claim in self.claims.create_missing(stateful_set, ordinal):
            text = f"Create Claim {claim} Pod {name} in StatefulSet {owner} success"
            self._tell(stateful_set, "Normal", "SuccessfulCreate", text)
        try:
            self.pods.create(stateful_set, _pod(stateful_set, ordinal, revision))
        except AlreadyExists:  # a pod of the same name that is not ours: nothing can be done until it goes
            raise
        except APIError as error:
            text = f"Create Pod {name} in StatefulSet {owner} failed error: {error}"
            self._tell(stateful_set, "Warning", "FailedCreate", text)
            raise
        self._tell(stateful_set, "Normal", "SuccessfulCreate", f"Create Pod {name} in StatefulSet {owner} successful")

    def _delete(self, stateful_set: StatefulSet, pod: Pod) -> None:
        if self.pods.delete(stateful_set, pod):
            text = f"Delete Pod {pod.name} in StatefulSet {stateful_set.metadata.name} successful"
            self._tell(stateful_set, "Normal", "SuccessfulDelete", text)

    def _prune(
        self, stateful_set: StatefulSet, history: History, pods: Sequence[Pod], before: ControllerRevision
    ) -> None:
        in_use = {before.name, *(pod.labels.get(REVISION_HASH, "") for pod in pods)}
        for each in surplus(history, in_use, stateful_set.spec.revision_history_limit):
            self.revisions.delete(stateful_set, each)

    def _tell(self, stateful_set: StatefulSet, kind: str, reason: str, message: str) -> None:
        self.recorder.event(stateful_set, kind, reason, message, resource=STATEFUL_SETS)


def _pod(stateful_set: StatefulSet, ordinal: int, revision: ControllerRevision) -> dict[str, Any]:
    """Return the pod of an ordinal, made from the template of a revision."""
    name = f"{stateful_set.metadata.name}-{ordinal}"
    made = pod_of(revision.template, name=name)
    identity = {POD_NAME: name, POD_INDEX: str(ordinal), REVISION_HASH: revision.name}
    made["metadata"]["labels"] = {**made["metadata"].get("labels", {}), **identity}
    spec = made["spec"]
    spec["hostname"] = name
    if stateful_set.spec.service_name:
        spec["subdomain"] = stateful_set.spec.service_name
    if volumes := volumes_for(stateful_set, ordinal):
        names = {each["name"] for each in volumes}
        spec["volumes"] = [*volumes, *(each for each in spec.get("volumes") or [] if each["name"] not in names)]
    return made


def stateful_set_controller(manager: Manager, *, workers: int = 5) -> Controller:
    """Return the controller that keeps the pods of StatefulSets, ready to be added to `manager`."""
    stateful_sets = manager.lister(STATEFUL_SETS, StatefulSet)

    def selectors(namespace: str) -> Iterable[tuple[ObjectKey, LabelSelector]]:
        for each in stateful_sets.list(namespace):
            yield ObjectKey(each.metadata.name, namespace), LabelSelector.from_object(each.spec.selector)

    pods: Children[Pod] = Children(manager, STATEFUL_SETS, PODS, Pod, selectors)
    revisions: Children[ControllerRevision] = Children(manager, STATEFUL_SETS, REVISIONS, ControllerRevision, selectors)
    claims = Claims(manager)
    recorder = manager.recorder(NAME, api=EventAPI.CORE)
    reconciler = StatefulSets(manager, stateful_sets, pods, revisions, claims, recorder, manager.host)
    controller = Controller(NAME, reconciler, workers=workers).watch(STATEFUL_SETS)
    return controller.watch(PODS, map=pods.requests).watch(REVISIONS, map=revisions.requests)
