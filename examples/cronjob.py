# SPDX-License-Identifier: Apache-2.0
"""Runs Jobs on a schedule: `pip install cronsim`, then `python examples/cronjob.py`.

This is the operator of kubebuilder's tutorial. docs/cronjob-tutorial.md builds it step by step, and tests each step.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Annotated, Any, Literal

import attrs
import msgspec
from cronsim import CronSim, CronSimError
from kubernetes.client import V1Job, V1JobTemplateSpec, V1ObjectReference

from controller_runtime import (
    Cached,
    Client,
    Clock,
    Controller,
    EventRecorder,
    Lister,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    annotations_of,
    controller_of,
    enqueue_owner,
    labels_of,
    meta,
    run,
    set_controller,
)
from controller_runtime.conditions import condition, conditions_of, with_condition
from controller_runtime.crd import (
    LIST_ATOMIC,
    Condition,
    CustomResource,
    Int32,
    Int64,
    Meta,
    Struct,
    changes,
    custom_resource,
    field,
    list_map,
)
from controller_runtime.errors import AlreadyExists, Invalid, NotFound
from controller_runtime.resources import JOBS

SCHEDULED_AT = "batch.tutorial.kubebuilder.io/scheduled-at"  # annotation of a Job: the time that it was due
COMPLETE, FAILED = condition("Complete"), condition("Failed")
TOO_MANY = 100  # missed runs, as in Kubernetes' own CronJob controller


class CronJobSpec(Struct):
    """The Jobs that are wanted, and when.

    Attributes:
        schedule: Five fields as of cron, in UTC.
        starting_deadline_seconds: How late a run may start; it is left out if it could only start later.
        concurrency_policy: The effect of active Jobs on the next run.
        suspend: Whether to start no more runs.
        job_template: The Job of each run.
        successful_jobs_history_limit: How many successful Jobs are kept; all of them if it is not set.
        failed_jobs_history_limit: How many failed Jobs are kept; all of them if it is not set.
    """

    schedule: Annotated[str, Meta(min_length=1)]
    job_template: V1JobTemplateSpec
    starting_deadline_seconds: Annotated[Int64, Meta(ge=0)] | None = None
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Allow"
    suspend: bool | None = None
    successful_jobs_history_limit: Annotated[Int32, Meta(ge=0)] | None = None
    failed_jobs_history_limit: Annotated[Int32, Meta(ge=0)] | None = None


class CronJobStatus(Struct):
    active: Annotated[list[V1ObjectReference], LIST_ATOMIC] = field(default_factory=list)
    last_schedule_time: datetime | None = None
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)


@custom_resource("batch.tutorial.kubebuilder.io/v1", columns={"Schedule": ".spec.schedule"})
class CronJob(CustomResource):
    spec: CronJobSpec
    status: CronJobStatus | None = None


@attrs.frozen
class Plan:
    """When to run: at once for the time `due`, and again at `following`; a warning has a reason and a message."""

    due: datetime | None = None
    following: datetime | None = None
    warning: tuple[str, str] | None = None


def plan(spec: CronJobSpec, last: datetime, now: datetime) -> Plan:
    """Return when a CronJob runs whose last run was due at `last`; of several missed runs only the latest is due."""
    try:
        following = next(CronSim(spec.schedule, now), None)
        backwards = CronSim(spec.schedule, now + timedelta(seconds=1), reverse=True)
    except CronSimError as error:
        return Plan(warning=("InvalidSchedule", f"{spec.schedule!r}: {error}"))
    missed = [*takewhile(lambda run: run > last, islice(backwards, TOO_MANY + 1))]
    deadline = spec.starting_deadline_seconds
    in_time = [run for run in missed if deadline is None or (now - run).total_seconds() <= deadline]
    warning = None
    if missed and not in_time:
        warning = ("MissedSchedule", f"the run of {missed[0].isoformat()} could not start in time")
    elif len(in_time) > TOO_MANY:
        warning = ("TooManyMissedTimes", f"more than {TOO_MANY} runs were missed; set startingDeadlineSeconds")
    return Plan(in_time[0] if in_time else None, following, warning)


def scheduled_at(job: V1Job) -> datetime:
    """Return the time at which a Job was due; that of its creation if the annotation cannot be read."""
    try:
        return datetime.fromisoformat(annotations_of(job)[SCHEDULED_AT]).astimezone(UTC)
    except (KeyError, ValueError):
        return meta(job).creation_timestamp or datetime.min.replace(tzinfo=UTC)


def surplus(jobs: list[V1Job], limit: int | None, recorded: datetime | None) -> list[V1Job]:
    """Return the oldest Jobs beyond the limit, of those whose runs the status has recorded.

    Until then a Job is the only proof that its run took place: without it, the run would be due again.
    """
    old = jobs[: max(0, len(jobs) - limit)] if limit is not None else []
    return [job for job in old if recorded and scheduled_at(job) <= recorded]


def conditions_for(cron_job: CronJob, active: int, problem: tuple[str, str] | None, now: datetime) -> list[Condition]:
    reason, message = ("Suspended", "it is suspended") if cron_job.spec.suspend else problem or ("Scheduled", "")
    conditions, generation = conditions_of(cron_job), cron_job.metadata.generation
    for name, is_true, why, text in (
        ("Available", reason == "Scheduled", reason, message),
        ("Progressing", active > 0, "JobsActive" if active else "NoJobsActive", f"active jobs: {active}"),
        ("Degraded", problem is not None, *(problem or ("AsExpected", ""))),
    ):
        status = "True" if is_true else "False"
        conditions = with_condition(
            conditions, name, status, reason=why, message=text, now=now, observed_generation=generation
        )
    return msgspec.convert(conditions, list[Condition])


def decide(cron_job: CronJob, jobs: list[V1Job], now: datetime) -> tuple[CronJobStatus, list[V1Job], Plan]:
    """Return the status that a CronJob should have, those of its Jobs that are to be deleted, and its plan."""
    spec, metadata, recorded = cron_job.spec, cron_job.metadata, (cron_job.status or CronJobStatus()).last_schedule_time
    jobs = sorted(jobs, key=scheduled_at)
    succeeded, failed = [*filter(COMPLETE, jobs)], [*filter(FAILED, jobs)]
    active = [job for job in jobs if not COMPLETE(job) and not FAILED(job)]
    last = max([*map(scheduled_at, jobs), *filter(None, [recorded])], default=None)

    stopped = spec.suspend or metadata.deletion_timestamp
    planned = Plan() if stopped else plan(spec, last or metadata.creation_timestamp or now, now)
    if active and spec.concurrency_policy == "Forbid":
        planned = attrs.evolve(planned, due=None)
    delete = surplus(succeeded, spec.successful_jobs_history_limit, recorded)
    delete += surplus(failed, spec.failed_jobs_history_limit, recorded)
    if planned.due and spec.concurrency_policy == "Replace":
        delete += active

    problem = planned.warning or (("JobsFailed", f"failed jobs: {len(failed)}") if failed else None)
    references = [reference_to(job) for job in active]
    return CronJobStatus(references, last, conditions_for(cron_job, len(active), problem, now)), delete, planned


def reference_to(job: V1Job) -> V1ObjectReference:
    name, namespace, uid = meta(job).name, meta(job).namespace, meta(job).uid
    return V1ObjectReference(api_version="batch/v1", kind="Job", name=name, namespace=namespace, uid=uid)


def job_for(cron_job: CronJob, due: datetime) -> dict[str, Any]:
    """Return the Job of a run. Its name follows from the time, so that no run gets two Jobs."""
    template = cron_job.spec.job_template
    metadata = {
        "name": f"{cron_job.metadata.name}-{int(due.timestamp())}",
        "namespace": cron_job.metadata.namespace,
        "labels": labels_of(template),
        "annotations": {**annotations_of(template), SCHEDULED_AT: due.isoformat()},
    }
    job = {"metadata": metadata, "spec": template.spec}
    set_controller(job, cron_job)
    return job


@attrs.frozen
class CronJobs(Reconciler):
    cron_jobs: Lister[CronJob]
    jobs: Lister[V1Job]
    client: Client
    recorder: EventRecorder
    clock: Clock

    def reconcile(self, request: Request) -> Result:
        cron_job = self.cron_jobs.get(request)
        if cron_job is None:
            return Result()
        now = self.clock.now()
        status, delete, planned = decide(cron_job, self.jobs.by_index("controller", cron_job.metadata.uid), now)
        wanted = msgspec.structs.replace(cron_job, status=status)
        if patch := changes(cron_job, wanted, replace_lists=True):
            self.client.patch(CronJob, request, patch, subresource="status")
        for job in delete:
            with suppress(NotFound):
                self.client.delete(JOBS, ObjectKey(meta(job).name, request.namespace), propagation_policy="Background")
        if planned.due:
            try:
                with suppress(AlreadyExists):  # it was created, and the cache has not seen it yet
                    self.client.create(JOBS, job_for(cron_job, planned.due))
            except Invalid as error:  # the schema allows templates that make no Job; the next run is tried in its time
                planned = attrs.evolve(planned, warning=("InvalidJob", str(error)))
        if planned.warning:
            self.recorder.event(cron_job, "Warning", *planned.warning)
        return Result(requeue_after=(planned.following - now).total_seconds()) if planned.following else Result()


def controller_uid(job: Cached) -> list[str]:
    owner = controller_of(job)
    return [owner.uid] if owner else []


def setup(manager: Manager) -> None:
    manager.install(CronJob)
    manager.informer(JOBS).add_index("controller", controller_uid)
    listers = manager.lister(CronJob), manager.lister(JOBS)
    reconciler = CronJobs(*listers, manager.client, manager.recorder("batch.tutorial.kubebuilder.io"), manager.host)
    manager.add(Controller("cronjob", reconciler).watch(CronJob).watch(JOBS, map=enqueue_owner(CronJob)))


if __name__ == "__main__":
    run(setup)
