# SPDX-License-Identifier: Apache-2.0
"""Creates the Jobs of a CronJob when they are due, and deletes old ones."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs
import msgspec
from cronsim import CronSim, CronSimError

from apimachinery.errors import AlreadyExists
from apimachinery.host import Clock
from apimachinery.objects import ObjectKey, ObjectMeta, timestamp
from apimachinery.selectors import LabelSelector
from controller_runtime.api.builtin_resources import CRON_JOBS, JOBS
from controller_runtime.cache.lister import Lister
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.workloads.children import Children
from controllers.workloads.job_views import COMPLETE, FAILED, Job
from controllers.workloads.status import Status, filled, write_status

NAME = "cronjob-controller"
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
TOO_MANY = 100
"""Missed times of which a warning tells, as in Kubernetes."""
_MISSED_BEFORE_GIVING_UP = 10_000


class CronJobSpec(msgspec.Struct, gc=False, rename="camel"):
    """The fields of the spec that the controller reads."""

    schedule: str
    job_template: dict[str, Any]
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class CronJob(msgspec.Struct, gc=False):
    """A CronJob."""

    metadata: ObjectMeta
    spec: CronJobSpec
    status: Status = msgspec.field(default_factory=dict)


@attrs.frozen
class Due:
    """When a CronJob runs: now, for the scheduled time `now` (None if none is due), and next at `following`.

    `warning` has the reason and message of an event; None for no warning.
    """

    now: datetime | None = None
    following: datetime | None = None
    warning: tuple[str, str] | None = None


def due(cron_job: CronJob, now: datetime) -> Due:
    """Return when a CronJob runs. If several scheduled times were missed, only the latest one is due."""
    spec = cron_job.spec
    try:
        zone = ZoneInfo(spec.time_zone) if spec.time_zone else UTC
    except (ZoneInfoNotFoundError, ValueError) as error:
        return Due(warning=("UnknownTimeZone", f'invalid timeZone: "{spec.time_zone}": {error}'))
    here = now.astimezone(zone)
    last = cron_job.status.get("lastScheduleTime")
    earliest = datetime.fromisoformat(last) if last else cron_job.metadata.creation_timestamp or now
    if spec.starting_deadline_seconds is not None:
        earliest = max(earliest, now - timedelta(seconds=spec.starting_deadline_seconds))
    try:
        following = next(CronSim(spec.schedule, here), None)
        backwards = CronSim(spec.schedule, here + timedelta(seconds=1), reverse=True)
    except CronSimError as error:
        return Due(warning=("UnparseableSchedule", f'unparseable schedule: "{spec.schedule}" : {error}'))
    missed = [*takewhile(lambda time: time > earliest, islice(backwards, _MISSED_BEFORE_GIVING_UP))]
    following = following.astimezone(UTC) if following else None
    if not missed:
        return Due(None, following)
    warning = None
    if len(missed) > TOO_MANY:
        text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        warning = ("TooManyMissedTimes", text)
    return Due(missed[0].astimezone(UTC), following, warning)


def job_name(cron_job: CronJob, time: datetime) -> str:
    """Return the name of the Job for a scheduled time. It contains the minute, so that no time gets two Jobs."""
    return f"{cron_job.metadata.name}-{int(time.timestamp()) // 60}"


def surplus(cron_job: CronJob, jobs: Sequence[Job]) -> list[Job]:
    """Return the finished Jobs beyond the history limits: the complete ones, then the failed ones, the oldest first."""
    found: list[Job] = []
    limits = (COMPLETE, cron_job.spec.successful_jobs_history_limit), (FAILED, cron_job.spec.failed_jobs_history_limit)
    for kind, limit in limits:
        finished = sorted((job for job in jobs if job.condition(kind)), key=_started)
        if limit is not None:
            found += finished[: max(0, len(finished) - limit)]
    return found


def _started(job: Job) -> tuple[str, str]:
    return job.status.get("startTime") or "", job.metadata.name


@attrs.frozen
class CronJobs(Reconciler):
    """Creates the Jobs of CronJobs when they are due, and records active Jobs in the status."""

    manager: Manager
    cron_jobs: Lister[CronJob]
    jobs: Children[Job]
    recorder: EventRecorder
    clock: Clock

    def reconcile(self, request: Request) -> Result:
        """Record Jobs that have ended, delete old ones, and create the Job that is due."""
        if self.jobs.is_behind(request):
            return Result()
        cron_job = self.cron_jobs.get(request)
        if cron_job is None:
            self.jobs.forget(request)
            return Result()
        jobs = self.jobs.claim(cron_job, None)
        if jobs is None:
            return Result()
        now = self.clock.now()
        status = self._noted(cron_job, jobs)
        wanted = Due() if cron_job.spec.suspend or cron_job.metadata.deletion_timestamp else due(cron_job, now)
        if wanted.warning is not None:
            self._tell(cron_job, "Warning", *wanted.warning)
        for job in surplus(cron_job, jobs):
            if self.jobs.delete(cron_job, job):
                self._tell(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {job.metadata.name}")
        if wanted.now is not None:
            status = self._start(cron_job, wanted.now, jobs, status)
        written = write_status(self.manager.client, CRON_JOBS, cron_job.metadata, cron_job.status, status)
        if written is not None:  # the status says for which times there were Jobs: never judge by an old one
            self.jobs.wait_for(cron_job, self.cron_jobs, written)
        wait = (wanted.following - now).total_seconds() if wanted.following else None
        return Result(requeue_after=wait)

    def _noted(self, cron_job: CronJob, jobs: Sequence[Job]) -> Status:
        """Return the status with the Jobs that are active, and the end of the last one that was successful."""
        by_uid = {job.metadata.uid: job for job in jobs}
        status, active = dict(cron_job.status), []
        for reference in cron_job.status.get("active") or ():
            job = by_uid.get(reference["uid"])
            if job is None:
                self._tell(cron_job, "Normal", "MissingJob", f"Active job went missing: {reference['name']}")
            elif job.is_finished:
                kind = COMPLETE if job.condition(COMPLETE) else FAILED
                text = f"Saw completed job: {job.metadata.name}, condition: {kind}"
                self._tell(cron_job, "Normal", "SawCompletedJob", text)
            else:
                active.append(reference)
        ends = [job.status["completionTime"] for job in jobs if job.condition(COMPLETE)]
        latest = max([*ends, status.get("lastSuccessfulTime") or ""], default="")
        status = {name: value for name, value in status.items() if name != "active"}
        return status | filled(active=active, lastSuccessfulTime=latest)

    def _start(self, cron_job: CronJob, time: datetime, jobs: Sequence[Job], status: Status) -> Status:
        active = status.get("active") or []
        if cron_job.spec.concurrency_policy == "Forbid" and active:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._tell(cron_job, "Normal", "JobAlreadyActive", text)
            return status
        if cron_job.spec.concurrency_policy == "Replace":
            replaced = {each["uid"] for each in active}
            for job in jobs:
                if job.metadata.uid in replaced and self.jobs.delete(cron_job, job):
                    self._tell(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {job.metadata.name}")
            active = []
        started = {**status, "lastScheduleTime": timestamp(time)}
        try:
            made = self.jobs.create(cron_job, self._job(cron_job, time))
        except AlreadyExists:  # it was created, and the status could not be written any more
            present = next((job for job in jobs if job.metadata.name == job_name(cron_job, time)), None)
            return started if present is not None else status
        self._tell(cron_job, "Normal", "SuccessfulCreate", f"Created job {made.name}")
        reference = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": made.name,
            "namespace": made.namespace,
            "uid": made.uid,
            "resourceVersion": made.resource_version,
        }
        return {**started, "active": [*active, reference]}

    def _job(self, cron_job: CronJob, time: datetime) -> dict[str, Any]:
        template = cron_job.spec.job_template
        of_template = template.get("metadata") or {}
        zone = ZoneInfo(cron_job.spec.time_zone) if cron_job.spec.time_zone else UTC
        annotations = {**(of_template.get("annotations") or {}), SCHEDULED_AT: _rfc3339(time.astimezone(zone))}
        metadata: dict[str, Any] = {"name": job_name(cron_job, time), "annotations": annotations}
        if of_template.get("labels"):
            metadata["labels"] = dict(of_template["labels"])
        return {"metadata": metadata, "spec": copy.deepcopy(template.get("spec") or {})}

    def _tell(self, cron_job: CronJob, kind: str, reason: str, message: str) -> None:
        self.recorder.event(cron_job, kind, reason, message, resource=CRON_JOBS)


def _rfc3339(time: datetime) -> str:
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


def cron_job_controller(manager: Manager, *, workers: int = 5) -> Controller:
    """Return the controller that creates the Jobs of CronJobs, ready to be added to `manager`."""
    cron_jobs = manager.lister(CRON_JOBS, CronJob)

    def selectors(namespace: str) -> Iterable[tuple[ObjectKey, LabelSelector]]:
        return ()

    jobs: Children[Job] = Children(manager, CRON_JOBS, JOBS, Job, selectors)
    reconciler = CronJobs(manager, cron_jobs, jobs, manager.recorder(NAME, api=EventAPI.CORE), manager.host)
    return Controller(NAME, reconciler, workers=workers).watch(CRON_JOBS).watch(JOBS, map=jobs.requests)
