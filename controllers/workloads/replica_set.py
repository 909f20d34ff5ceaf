# SPDX-License-Identifier: Apache-2.0
"""Keeps the number of pods that a ReplicaSet asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from apimachinery.errors import APIError, ControllerRuntimeError
from apimachinery.host import Clock
from apimachinery.objects import ObjectKey
from apimachinery.selectors import LabelSelector
from controller_runtime.api.builtin_resources import REPLICA_SETS
from controller_runtime.api.conditions import with_condition
from controller_runtime.api.references import controller_of
from controller_runtime.api.resources import PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.workloads.children import INDEX, Children, add_owner_index
from controllers.workloads.pods import Pod
from controllers.workloads.replica_set_plan import ReplicaSet, plan, status_of
from controllers.workloads.status import write_status
from controllers.workloads.templates import pod_of

NAME = "replicaset-controller"
_FAILURE = "ReplicaFailure"


@attrs.frozen
class ReplicaSets(Reconciler):
    """Creates and deletes pods until each ReplicaSet has its desired number of active pods."""

    manager: Manager
    replica_sets: Lister[ReplicaSet]
    all_pods: Lister[Pod]
    pods: Children[Pod]
    recorder: EventRecorder
    clock: Clock

    def reconcile(self, request: Request) -> Result:
        """Adopt and release pods, create missing and delete surplus ones, and write the status."""
        replica_set = self.replica_sets.get(request)
        if replica_set is None:
            self.pods.forget(request)
            return Result()
        pods = self.pods.claim(replica_set, LabelSelector.from_object(replica_set.spec.selector))
        if pods is None:
            return Result()
        failure: tuple[str, str] | None = None
        error: ControllerRuntimeError | None = None
        if replica_set.metadata.deletion_timestamp is None:
            failure, error = self._scale(replica_set, pods)
        now = self.clock.now()
        conditions = self._conditions(replica_set, failure)
        status, wait = status_of(replica_set, pods, now, conditions)
        write_status(self.manager.client, REPLICA_SETS, replica_set.metadata, replica_set.status, status)
        if error is not None:
            raise error
        return Result(requeue_after=wait)

    def _scale(
        self, replica_set: ReplicaSet, pods: Sequence[Pod]
    ) -> tuple[tuple[str, str] | None, ControllerRuntimeError | None]:
        """Carry out the plan; the first failure ends it and is returned, with its reason and message."""
        planned = plan(replica_set, pods, self._related(replica_set), self.clock.now())
        try:
            for _ in range(planned.create):
                body = pod_of(replica_set.spec.template, generate_name=f"{replica_set.metadata.name}-")
                made = self.pods.create(replica_set, body)
                self._tell(replica_set, "Normal", "SuccessfulCreate", f"Created pod: {made.name}")
        except APIError as error:
            self._tell(replica_set, "Warning", "FailedCreate", f"Error creating: {error!s}")
            return ("FailedCreate", str(error)), error
        try:
            for pod in planned.delete:
                if self.pods.delete(replica_set, pod):
                    self._tell(replica_set, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")
        except APIError as error:
            self._tell(replica_set, "Warning", "FailedDelete", f"Error deleting: {error!s}")
            return ("FailedDelete", str(error)), error
        return None, None

    def _related(self, replica_set: ReplicaSet) -> Iterable[Pod]:
        """Return the pods of the ReplicaSets that have the same owner, this one's among them."""
        owner = controller_of(replica_set)
        if owner is None:
            return self.all_pods.by_index(INDEX, replica_set.metadata.uid)
        siblings = self.replica_sets.by_index(INDEX, owner.uid)
        return [pod for each in siblings for pod in self.all_pods.by_index(INDEX, each.metadata.uid)]

    def _conditions(self, replica_set: ReplicaSet, failure: tuple[str, str] | None) -> Sequence[Mapping[str, Any]]:
        present: list[Mapping[str, Any]] = replica_set.status.get("conditions") or []
        if failure is None:
            return [each for each in present if each["type"] != _FAILURE]
        if any(each["type"] == _FAILURE for each in present):
            return present
        reason, message = failure
        return with_condition(present, _FAILURE, "True", reason=reason, message=message, now=self.clock.now())

    def _tell(self, replica_set: ReplicaSet, kind: str, reason: str, message: str) -> None:
        self.recorder.event(replica_set, kind, reason, message, resource=REPLICA_SETS)


def replica_set_controller(manager: Manager, *, workers: int = 5) -> Controller:
    """Return the controller that keeps the pods of ReplicaSets, ready to be added to `manager`."""
    replica_sets = manager.lister(REPLICA_SETS, ReplicaSet)

    def selectors(namespace: str) -> Iterable[tuple[ObjectKey, LabelSelector]]:
        for each in replica_sets.list(namespace):
            yield ObjectKey(each.metadata.name, namespace), LabelSelector.from_object(each.spec.selector)

    pods: Children[Pod] = Children(manager, REPLICA_SETS, PODS, Pod, selectors)
    add_owner_index(manager, REPLICA_SETS)
    all_pods = manager.lister(PODS, Pod)
    recorder = manager.recorder(NAME, api=EventAPI.CORE)
    reconciler = ReplicaSets(manager, replica_sets, all_pods, pods, recorder, manager.host)
    return Controller(NAME, reconciler, workers=workers).watch(REPLICA_SETS).watch(PODS, map=pods.requests)
