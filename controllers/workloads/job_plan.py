# SPDX-License-Identifier: Apache-2.0
"""The plan for a Job: pods to count, to create and to delete, and its status."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import attrs

from apimachinery.objects import timestamp
from controllers.workloads.job_count import Count, count_pods
from controllers.workloads.job_views import (
    COMPLETE,
    CRITERIA_MET,
    FAILED,
    FAILURE_TARGET,
    SUSPENDED,
    Job,
    index_of,
    indexes_text,
)
from controllers.workloads.pods import Pod
from controllers.workloads.status import Status, filled

BACKOFF, MOST_BACKOFF = 10.0, 600.0
"""Seconds before a failed pod is replaced: after the first failure, doubled by each further one, and at most."""
_MET = ("CompletionsReached", "Reached expected number of succeeded pods")
_LIMIT = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")


@attrs.frozen
class JobPlan:
    """The next step of a Job. The attributes are in the order in which they are executed.

    Attributes:
        status: The status to write first.
        release: Pods whose finalizer is removed, once the status lists them.
        delete: Pods to delete; those of a failed Job keep their finalizer, so that they are counted.
        create: One item for each pod to create: its index, or None without indexes.
        wait: Seconds until the Job must be reconciled even without a change; None if not.
        events: Type, reason and message of each event to record.
    """

    status: Status
    release: Sequence[Pod] = ()
    delete: Sequence[Pod] = ()
    create: Sequence[int | None] = ()
    wait: float | None = None
    events: Sequence[tuple[str, str, str]] = ()


def plan(job: Job, pods: Sequence[Pod], now: datetime) -> JobPlan | None:
    """Return the next step of a Job; None if it is finished.

    Args:
        job: The Job.
        pods: The pods of the Job.
        now: The current time.
    """
    if job.is_finished:
        return None
    count = count_pods(job, pods)
    active = [pod for pod in pods if pod.is_active]
    start = job.status.get("startTime") or (None if job.spec.suspend else timestamp(now))
    target = _target(job) or _why_failed(job, pods, count, start, now)
    conditions = [*(job.status.get("conditions") or [])]
    events: list[tuple[str, str, str]] = []
    delete: Sequence[Pod] = ()
    create: Sequence[int | None] = ()
    wait = _deadline(job, start, now)
    if target is None:
        delete, create, backoff = _scale(job, pods, active, count, now)
        wait = min((each for each in (wait, backoff) if each is not None), default=None)
        if _is_met(job, count, active) and not delete and not create:
            target = (CRITERIA_MET, *_MET)
        else:
            conditions, start = _with_suspension(job, conditions, start, now, events)
    elif target[0] == FAILURE_TARGET:
        delete = active
    if target is not None and not any(each["type"] == target[0] for each in conditions):
        conditions.append(_condition(*target, now))
    left = [pod for pod in active if pod not in delete]
    terminating = [pod for pod in pods if pod.is_terminating and not pod.has_ended]
    status = _status(
        job, count, left, len(terminating) + len(delete) * bool(target or job.spec.suspend), conditions, start
    )
    is_settled = not count.uncounted_succeeded and not count.uncounted_failed and not left and not delete
    if _target(job) is not None and target is not None and is_settled and not terminating:
        status, finished = _finished(status, target, now)
        events.append(finished)
    return JobPlan(status, count.release, delete, create, wait, events)


def _target(job: Job) -> tuple[str, str, str] | None:
    """Return the end that was decided on: its condition, reason and message."""
    found = job.condition(FAILURE_TARGET) or job.condition(CRITERIA_MET)
    return None if found is None else (found["type"], found["reason"], found.get("message", ""))


def _why_failed(
    job: Job, pods: Sequence[Pod], count: Count, start: str | None, now: datetime
) -> tuple[str, str, str] | None:
    failed = count.failed + len(count.uncounted_failed)
    if failed > job.spec.backoff_limit or _restarts_exceed(job, pods):
        return (FAILURE_TARGET, *_LIMIT)
    left = _deadline(job, start, now)
    return (FAILURE_TARGET, *_DEADLINE) if left is not None and left <= 0 else None


def _restarts_exceed(job: Job, pods: Sequence[Pod]) -> bool:
    """Tell whether pods that restart in place have done so too often."""
    running = [pod for pod in pods if pod.status.phase in ("Running", "Pending")]
    restarts = sum(pod.restarts for pod in running if pod.spec.restart_policy == "OnFailure")
    return restarts > 0 and restarts >= job.spec.backoff_limit


def _deadline(job: Job, start: str | None, now: datetime) -> float | None:
    if job.spec.active_deadline_seconds is None or start is None or job.spec.suspend:
        return None
    end = datetime.fromisoformat(start) + timedelta(seconds=job.spec.active_deadline_seconds)
    return (end - now).total_seconds()


def _is_met(job: Job, count: Count, active: Sequence[Pod]) -> bool:
    if active:
        return False
    succeeded = count.succeeded + len(count.uncounted_succeeded)
    return succeeded > 0 if job.spec.completions is None else succeeded >= job.spec.completions


def _scale(
    job: Job, pods: Sequence[Pod], active: Sequence[Pod], count: Count, now: datetime
) -> tuple[Sequence[Pod], Sequence[int | None], float | None]:
    """Return the pods to delete, those to create, and the seconds until one that failed is replaced."""
    if job.metadata.deletion_timestamp is not None:
        return (), (), None
    if job.spec.suspend:
        return active, (), None
    succeeded = count.succeeded + len(count.uncounted_succeeded)
    if job.spec.completions is None:
        wanted = len(active) if succeeded else job.spec.parallelism
    else:
        wanted = max(0, min(job.spec.completions - succeeded, job.spec.parallelism))
    surplus = _surplus(job, active, wanted, count)
    if surplus:
        return surplus, (), None
    terminating = sum(pod.is_terminating and not pod.has_ended for pod in pods)
    missing = wanted - len(active) - (terminating if job.spec.pod_replacement_policy == "Failed" else 0)
    if missing <= 0:
        return (), (), None
    backoff = _backoff(pods, now)
    if backoff > 0:
        return (), (), backoff
    if not job.is_indexed:
        return (), [None] * missing, None
    taken = count.indexes | {index_of(pod) for pod in active}
    return (), [each for each in range(job.spec.completions or 0) if each not in taken][:missing], None


def _surplus(job: Job, active: Sequence[Pod], wanted: int, count: Count) -> list[Pod]:
    """Return active pods to delete: of indexed ones first those of an index that is done or taken twice."""
    ordered = sorted(active, key=lambda pod: (pod.is_ready, pod.created, pod.name), reverse=False)
    found: list[Pod] = []
    if job.is_indexed:
        seen = set(count.indexes)
        for pod in sorted(active, key=lambda pod: pod.created):
            index = index_of(pod)
            if index is None or index in seen or index >= (job.spec.completions or 0):
                found.append(pod)
            else:
                seen.add(index)
    rest = [pod for pod in ordered if pod not in found]
    return [*found, *rest[: max(0, len(active) - wanted - len(found))]]


def _backoff(pods: Sequence[Pod], now: datetime) -> float:
    """Return the seconds until a pod is created again after failures: those since the last success count."""
    ends = sorted((_ended_at(pod), pod.status.phase) for pod in pods if pod.has_ended)
    failures = 0
    for _, phase in reversed(ends):
        if phase != "Failed":
            break
        failures += 1
    if failures == 0:
        return 0.0
    delay = min(BACKOFF * 2.0 ** (failures - 1), MOST_BACKOFF)
    passed: float = (now - ends[-1][0]).total_seconds()
    return delay - passed


def _ended_at(pod: Pod) -> datetime:
    ends = [each.state.terminated.finished_at for each in pod.status.container_statuses or () if each.state.terminated]
    return max((each for each in ends if each is not None), default=pod.created)


def _with_suspension(
    job: Job, conditions: list[dict[str, Any]], start: str | None, now: datetime, events: list[tuple[str, str, str]]
) -> tuple[list[dict[str, Any]], str | None]:
    """Return the conditions with Suspended, and the start, which is new for a Job that is resumed."""
    present = next((each for each in conditions if each["type"] == SUSPENDED), None)
    if job.spec.suspend:
        if present is not None and present["status"] == "True":
            return conditions, start
        events.append(("Normal", "Suspended", "Job suspended"))
        made = _condition(SUSPENDED, "JobSuspended", "Job suspended", now)
        return [*(each for each in conditions if each is not present), made], None
    if present is None or present["status"] == "False":
        return conditions, start
    events.append(("Normal", "Resumed", "Job resumed"))
    made = {**_condition(SUSPENDED, "JobResumed", "Job resumed", now), "status": "False"}
    return [*(each for each in conditions if each is not present), made], timestamp(now)


def _condition(kind: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    time = timestamp(now)
    return {
        "type": kind,
        "status": "True",
        "lastProbeTime": time,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }


def _status(
    job: Job, count: Count, active: Sequence[Pod], terminating: int, conditions: list[Any], start: str | None
) -> Status:
    status = filled(
        conditions=conditions,
        startTime=start,
        active=len(active),
        succeeded=count.succeeded,
        failed=count.failed,
        completedIndexes=indexes_text(count.indexes) if job.is_indexed else None,
    )
    uncounted = filled(succeeded=count.uncounted_succeeded, failed=count.uncounted_failed)
    status["uncountedTerminatedPods"] = uncounted
    status["ready"] = sum(pod.is_ready for pod in active)
    status["terminating"] = terminating
    return status


def _finished(status: Status, target: tuple[str, str, str], now: datetime) -> tuple[Status, tuple[str, str, str]]:
    """Return the status of a Job that has ended, and the event that tells it."""
    kind, reason, message = target
    if kind == CRITERIA_MET:
        made = {**status, "conditions": [*status["conditions"], _condition(COMPLETE, reason, message, now)]}
        return {**made, "completionTime": timestamp(now)}, ("Normal", "Completed", "Job completed")
    made = {**status, "conditions": [*status["conditions"], _condition(FAILED, reason, message, now)]}
    return made, ("Warning", reason, message)
