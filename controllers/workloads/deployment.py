# SPDX-License-Identifier: Apache-2.0
"""Rolls a Deployment out: one ReplicaSet for each template, scaled step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from apimachinery.errors import AlreadyExists
from apimachinery.host import Clock
from apimachinery.objects import ObjectKey
from apimachinery.selectors import LabelSelector
from controller_runtime.api.builtin_resources import DEPLOYMENTS, REPLICA_SETS
from controller_runtime.api.references import controller_of
from controller_runtime.api.resources import PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.workloads.children import INDEX, Children, add_owner_index
from controllers.workloads.deployment_plan import (
    Scaling,
    in_proportion,
    is_scaled,
    new_of,
    recreate,
    replicas_of_new,
    roll,
    surplus,
)
from controllers.workloads.deployment_revision import annotations_for, replica_set_for, revised
from controllers.workloads.deployment_status import (
    CREATED,
    FOUND,
    PAUSED,
    PROGRESSING,
    RESUMED,
    condition_in,
    is_complete,
    late_in,
    numbers_of,
    with_progress,
    with_rollout,
)
from controllers.workloads.deployment_views import REVISION, Deployment, revision_of
from controllers.workloads.pods import Pod
from controllers.workloads.replica_set_plan import ReplicaSet
from controllers.workloads.status import Status

NAME = "deployment-controller"


@attrs.frozen
class Deployments(Reconciler):
    """Takes the steps of a Deployment's rollout, and writes its progress into the status."""

    manager: Manager
    deployments: Lister[Deployment]
    replica_sets: Children[ReplicaSet]
    pods: Lister[Pod]
    recorder: EventRecorder
    clock: Clock

    def reconcile(self, request: Request) -> Result:
        """Take the next step of a rollout. The change that it causes requests the reconcile for the step after."""
        if self.replica_sets.is_behind(request):
            return Result()
        deployment = self.deployments.get(request)
        if deployment is None:
            self.replica_sets.forget(request)
            return Result()
        if not deployment.spec.selector:
            text = "This deployment is selecting all pods. A non-empty selector is required."
            self.recorder.event(deployment, "Warning", "SelectingAll", text, resource=DEPLOYMENTS)
            return Result()
        owned = self.replica_sets.claim(deployment, LabelSelector.from_object(deployment.spec.selector))
        if owned is None:
            return Result()
        if deployment.metadata.deletion_timestamp is not None:
            status = numbers_of(deployment, new_of(deployment, owned), owned, self.clock.now())
            self._write(deployment, status, {})
            return Result()
        if self._note_pause(deployment):
            return Result()
        if deployment.spec.paused or is_scaled(deployment, owned):
            return self._keep(deployment, owned)
        return self._roll_out(deployment, owned)

    def _note_pause(self, deployment: Deployment) -> bool:
        """Write that a rollout was paused or goes on, and tell whether that was written."""
        conditions = [*deployment.status.get("conditions", [])]
        present = condition_in(conditions, PROGRESSING)
        if not deployment.has_deadline or (present is not None and present["reason"] == "ProgressDeadlineExceeded"):
            return False
        was_paused = present is not None and present["reason"] == PAUSED
        if deployment.spec.paused == was_paused:
            return False
        reason, text = (PAUSED, "is paused") if deployment.spec.paused else (RESUMED, "is resumed")
        conditions = with_progress(conditions, PROGRESSING, "Unknown", reason, f"Deployment {text}", self.clock.now())
        self._write(deployment, {**deployment.status, "conditions": conditions}, {})
        return True

    def _keep(self, deployment: Deployment, owned: Sequence[ReplicaSet]) -> Result:
        """Only scale: the Deployment is paused, or its replicas have changed."""
        new, old, annotations = self._with_new(deployment, owned, create=False)
        self._scale(deployment, in_proportion(deployment, new, old))
        if deployment.spec.paused:
            self._prune(deployment, old)
        everything = [*old, *([new] if new else [])]
        status = numbers_of(deployment, new, everything, self.clock.now())
        self._write(deployment, status, annotations)
        return Result()

    def _roll_out(self, deployment: Deployment, owned: Sequence[ReplicaSet]) -> Result:
        waits = False
        present = new_of(deployment, owned)
        if not deployment.is_rolling:
            older = [each for each in owned if present is None or each.metadata.uid != present.metadata.uid]
            steps, waits = recreate(older, [pod for each in older for pod in self._pods_of(each)])
            self._scale(deployment, steps)
            waits = waits or bool(steps)
        new, old, annotations = self._with_new(deployment, owned, create=not waits)
        scaling: Scaling = []
        if new is not None and deployment.is_rolling:
            scaling = roll(deployment, new, old)
        elif new is not None and not waits and new.spec.replicas != deployment.spec.replicas:
            scaling = [(new, deployment.spec.replicas)]
        self._scale(deployment, scaling)
        everything = [*old, *([new] if new else [])]
        now = self.clock.now()
        status = with_rollout(deployment, new, everything, numbers_of(deployment, new, everything, now), now)
        if new is not None and present is None:
            status = self._with_new_condition(deployment, status, new, is_new=True)
        if is_complete(deployment, status):
            self._prune(deployment, old)
        self._write(deployment, status, annotations)
        progressing = condition_in(status.get("conditions") or [], PROGRESSING)
        if deployment.has_deadline and progressing is not None and not is_complete(deployment, status):
            wait = late_in(deployment, progressing, now)
            return Result(requeue_after=wait + 1.0) if wait > -1.0 else Result()
        return Result()

    def _with_new_condition(self, deployment: Deployment, status: Status, new: ReplicaSet, *, is_new: bool) -> Status:
        if not deployment.has_deadline:
            return status
        reason, word = (CREATED, "Created") if is_new else (FOUND, "Found")
        message = f'{word} new replica set "{new.metadata.name}"'
        conditions = [*status.get("conditions", [])]
        made = with_progress(conditions, PROGRESSING, "True", reason, message, self.clock.now())
        return {**status, "conditions": made}

    def _with_new(
        self, deployment: Deployment, owned: Sequence[ReplicaSet], *, create: bool
    ) -> tuple[ReplicaSet | None, list[ReplicaSet], dict[str, str]]:
        """Return the new ReplicaSet, the old ones, and the annotations for the Deployment.

        The new one is created if there is none and `create` is true; its annotations follow the Deployment's.
        """
        new = new_of(deployment, owned)
        old = [each for each in owned if new is None or each.metadata.uid != new.metadata.uid]
        revision = max(map(revision_of, old), default=0) + 1
        if new is None:
            if not create:
                return None, old, {}
            new = self._create(deployment, old, revision)
            if new is None:
                return None, old, {}
        else:
            patch: dict[str, Any] = {}
            annotations = revised(deployment, new, revision)
            if annotations != (new.metadata.annotations or {}):
                patch["metadata"] = {"annotations": annotations}
            if new.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
                patch["spec"] = {"minReadySeconds": deployment.spec.min_ready_seconds}
            if patch:
                self.replica_sets.patch(deployment, new, patch)
                revision = int(annotations[REVISION])
            revision = max(revision_of(new), revision if patch else 0)
        return new, old, {REVISION: str(revision)}

    def _create(self, deployment: Deployment, old: Sequence[ReplicaSet], revision: int) -> ReplicaSet | None:
        """Create the ReplicaSet of the present template; None if its name is taken by another, then try the next."""
        replicas = replicas_of_new(deployment, old, 0)
        body = replica_set_for(deployment, revision, replicas)
        name = body["metadata"]["name"]
        try:
            made = self.replica_sets.create(deployment, body)
        except AlreadyExists:
            collisions = int(deployment.status.get("collisionCount", 0)) + 1
            self._write(deployment, {**deployment.status, "collisionCount": collisions}, {})
            return None
        if replicas:
            self._tell(deployment, name, 0, replicas)
        return self.replica_sets.read(made)

    def _scale(self, deployment: Deployment, scaling: Scaling) -> None:
        for replica_set, replicas in scaling:
            annotations = annotations_for(deployment)
            patch: dict[str, Any] = {"metadata": {"annotations": annotations}, "spec": {"replicas": replicas}}
            present = replica_set.metadata.annotations or {}
            if replicas == replica_set.spec.replicas and annotations.items() <= present.items():
                continue
            before = replica_set.spec.replicas
            self.replica_sets.patch(deployment, replica_set, patch)
            if before != replicas:
                self._tell(deployment, replica_set.metadata.name, before, replicas)

    def _tell(self, deployment: Deployment, name: str, before: int, after: int) -> None:
        word = "up" if after > before else "down"
        text = f"Scaled {word} replica set {name} from {before} to {after}"
        self.recorder.event(deployment, "Normal", "ScalingReplicaSet", text, resource=DEPLOYMENTS)

    def _prune(self, deployment: Deployment, old: Sequence[ReplicaSet]) -> None:
        for each in surplus(deployment, old):
            self.replica_sets.delete(deployment, each)

    def _write(self, deployment: Deployment, status: Status, annotations: dict[str, str]) -> None:
        """Write status and annotations, both by the subresource, as Kubernetes does."""
        present = deployment.metadata.annotations or {}
        changed = {name: value for name, value in annotations.items() if present.get(name) != value}
        if status == deployment.status and not changed:
            return
        removed = {name: None for name in deployment.status if name not in status}
        metadata: dict[str, Any] = {"uid": deployment.metadata.uid}
        if changed:
            metadata["annotations"] = changed
        key = ObjectKey(deployment.metadata.name, deployment.metadata.namespace)
        patch = {"metadata": metadata, "status": {**removed, **status}}
        written = self.manager.client.patch(DEPLOYMENTS, key, patch, subresource="status")
        self.replica_sets.wait_for(deployment, self.deployments, written)  # never judge by conditions from before

    def _pods_of(self, replica_set: ReplicaSet) -> list[Pod]:
        return self.pods.by_index(INDEX, replica_set.metadata.uid)


def deployment_controller(manager: Manager, *, workers: int = 5) -> Controller:
    """Return the controller that rolls Deployments out, ready to be added to `manager`."""
    deployments = manager.lister(DEPLOYMENTS, Deployment)

    def selectors(namespace: str) -> Iterable[tuple[ObjectKey, LabelSelector]]:
        for each in deployments.list(namespace):
            yield ObjectKey(each.metadata.name, namespace), LabelSelector.from_object(each.spec.selector)

    replica_sets: Children[ReplicaSet] = Children(manager, DEPLOYMENTS, REPLICA_SETS, ReplicaSet, selectors)
    add_owner_index(manager, PODS)
    pods = manager.lister(PODS, Pod)
    reconciler = Deployments(
        manager, deployments, replica_sets, pods, manager.recorder(NAME, api=EventAPI.CORE), manager.host
    )
    all_sets = manager.lister(REPLICA_SETS, ReplicaSet)

    def of_deleted(delta: Delta) -> Iterable[Request]:
        """Return the Deployment of a pod that is gone: one that recreates its pods waits for that."""
        owner = controller_of(delta.old) if delta.old is not None and delta.new is None else None
        if owner is None or owner.kind != REPLICA_SETS.kind:
            return []
        replica_set = all_sets.get(ObjectKey(owner.name, delta.key.namespace))
        above = controller_of(replica_set) if replica_set is not None else None
        return [] if above is None else [ObjectKey(above.name, delta.key.namespace)]

    controller = Controller(NAME, reconciler, workers=workers).watch(DEPLOYMENTS)
    return controller.watch(REPLICA_SETS, map=replica_sets.requests).watch(PODS, map=of_deleted)
