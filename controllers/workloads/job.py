# SPDX-License-Identifier: Apache-2.0
"""Runs a Job to its end, and deletes it a while after it if it asks for that."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import attrs

from apimachinery.errors import NotFound
from apimachinery.host import Clock
from apimachinery.objects import ObjectKey
from apimachinery.selectors import LabelSelector
from controller_runtime.api.builtin_resources import JOBS
from controller_runtime.api.references import controller_of
from controller_runtime.api.resources import PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.workloads.children import Children
from controllers.workloads.job_plan import JobPlan, plan
from controllers.workloads.job_views import INDEX_ANNOTATION, TRACKING, Job
from controllers.workloads.pods import Pod
from controllers.workloads.status import write_status
from controllers.workloads.templates import pod_of

NAME, TTL_NAME = "job-controller", "ttl-after-finished-controller"


@attrs.frozen
class Jobs(Reconciler):
    """Reconciles Jobs: counts their ended pods, and creates and deletes pods."""

    manager: Manager
    jobs: Lister[Job]
    pods: Children[Pod]
    all_pods: Lister[Pod]
    recorder: EventRecorder
    clock: Clock

    def reconcile(self, request: Request) -> Result:
        """Write the counts of ended pods, release these pods, and create or delete pods as the Job needs."""
        if self.pods.is_behind(request):
            return Result()
        job = self.jobs.get(request)
        if job is None:
            self.pods.forget(request)
            self._release_orphans(request)
            return Result()
        if job.spec.managed_by not in ("", "kubernetes.io/job-controller"):
            return Result()
        pods = self.pods.claim(job, LabelSelector.from_object(job.spec.selector))
        planned = None if pods is None else plan(job, pods, self.clock.now())
        if planned is None:
            return Result()
        written = write_status(self.manager.client, JOBS, job.metadata, job.status, planned.status)
        if written is not None:  # a pod without its finalizer is counted by the status alone: never judge by an old one
            self.pods.wait_for(job, self.jobs, written)
        self._act(job, planned)
        for kind, reason, message in planned.events:
            self.recorder.event(job, kind, reason, message, resource=JOBS)
        return Result(requeue_after=planned.wait)

    def _act(self, job: Job, planned: JobPlan) -> None:
        for pod in planned.release:
            self._release(job, pod)
        for pod in planned.delete:
            if job.spec.suspend or not _is_failing(planned):
                self._release(job, pod)
            if self.pods.delete(job, pod):
                self._tell(job, "SuccessfulDelete", f"Deleted pod: {pod.name}")
        for index in planned.create:
            made = self.pods.create(job, _pod(job, index))
            self._tell(job, "SuccessfulCreate", f"Created pod: {made.name}")

    def _release(self, job: Job, pod: Pod) -> None:
        """Remove the finalizer of a pod that is counted, or is not to be."""
        finalizers = [each for each in pod.metadata.finalizers or () if each != TRACKING]
        if len(finalizers) < len(pod.metadata.finalizers or ()):
            with contextlib.suppress(NotFound):
                self.pods.patch(job, pod, {"metadata": {"finalizers": finalizers or None}})

    def _release_orphans(self, request: Request) -> None:
        """Remove the finalizers of the pods of a Job that is gone: they are no longer counted."""
        for pod in self.all_pods.list(request.namespace):
            owner = controller_of(pod)
            is_of_job = owner is not None and (owner.kind, owner.name) == (JOBS.kind, request.name)
            if is_of_job and TRACKING in (pod.metadata.finalizers or ()):
                finalizers = [each for each in pod.metadata.finalizers or () if each != TRACKING]
                patch = {"metadata": {"uid": pod.metadata.uid, "finalizers": finalizers or None}}
                with contextlib.suppress(NotFound):
                    self.manager.client.patch(PODS, pod.key, patch)

    def _tell(self, job: Job, reason: str, message: str) -> None:
        self.recorder.event(job, "Normal", reason, message, resource=JOBS)


def _is_failing(planned: JobPlan) -> bool:
    return any(each["type"] == "FailureTarget" for each in planned.status.get("conditions", ()))


def _pod(job: Job, index: int | None) -> dict[str, Any]:
    """Return a pod of a Job, with its index if it has one."""
    name = job.metadata.name
    made = pod_of(job.spec.template, generate_name=f"{name}-" if index is None else f"{name}-{index}-")
    made["metadata"]["finalizers"] = [*made["metadata"].get("finalizers", []), TRACKING]
    if index is None:
        return made
    for part in ("labels", "annotations"):
        made["metadata"][part] = {**made["metadata"].get(part, {}), INDEX_ANNOTATION: str(index)}
    made["spec"]["hostname"] = f"{name}-{index}"
    path = f"metadata.labels['{INDEX_ANNOTATION}']"
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    for container in (*made["spec"].get("initContainers", ()), *made["spec"]["containers"]):
        if not any(each["name"] == variable["name"] for each in container.get("env") or ()):
            container["env"] = [*(container.get("env") or ()), variable]
    return made


@attrs.frozen
class FinishedJobs(Reconciler):
    """Deletes a Job `ttlSecondsAfterFinished` seconds after it has ended, with its pods."""

    jobs: Lister[Job]
    client: Client
    clock: Clock

    def reconcile(self, request: Request) -> Result:
        """Delete the Job if its time is over; otherwise requeue it for that time."""
        job = self.jobs.get(request)
        if job is None or job.metadata.deletion_timestamp is not None or job.spec.ttl_seconds_after_finished is None:
            return Result()
        if (ended := job.finished_at) is None:
            return Result()
        left = job.spec.ttl_seconds_after_finished - (self.clock.now() - ended).total_seconds()
        if left > 0:
            return Result(requeue_after=left)
        with contextlib.suppress(NotFound):
            self.client.delete(JOBS, request, uid=job.metadata.uid, propagation_policy="Foreground")
        return Result()


def job_controller(manager: Manager, *, workers: int = 5) -> Controller:
    """Return the controller that runs Jobs, ready to be added to `manager`."""
    jobs = manager.lister(JOBS, Job)

    def selectors(namespace: str) -> Iterable[tuple[ObjectKey, LabelSelector]]:
        for each in jobs.list(namespace):
            yield ObjectKey(each.metadata.name, namespace), LabelSelector.from_object(each.spec.selector)

    pods: Children[Pod] = Children(manager, JOBS, PODS, Pod, selectors)
    reconciler = Jobs(
        manager, jobs, pods, manager.lister(PODS, Pod), manager.recorder(NAME, api=EventAPI.CORE), manager.host
    )
    return Controller(NAME, reconciler, workers=workers).watch(JOBS).watch(PODS, map=pods.requests)


def finished_job_controller(manager: Manager) -> Controller:
    """Return the controller that deletes finished Jobs, ready to be added to `manager`."""
    reconciler = FinishedJobs(manager.lister(JOBS, Job), manager.client, manager.host)
    return Controller(TTL_NAME, reconciler).watch(JOBS)
