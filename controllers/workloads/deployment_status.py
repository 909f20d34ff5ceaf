# SPDX-License-Identifier: Apache-2.0
"""The status of a Deployment: the numbers, and the conditions Available, Progressing and ReplicaFailure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from apimachinery.objects import timestamp
from controllers.workloads.deployment_views import Deployment, counted_in, replicas_in
from controllers.workloads.replica_set_plan import ReplicaSet
from controllers.workloads.status import Status, filled

Conditions = list[dict[str, Any]]
AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
CREATED, FOUND, UPDATED = "NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated"
COMPLETE, EXCEEDED = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"


def condition_in(conditions: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    """Return the condition of the type `kind`; None if there is none."""
    return next((each for each in conditions if each["type"] == kind), None)


def with_progress(
    conditions: Conditions, kind: str, status: str, reason: str, message: str, now: datetime, *, again: bool = False
) -> Conditions:
    """Return the conditions with one of them set; it moves to the end.

    Args:
        conditions: The current conditions.
        kind: The type of the condition to set.
        status: `True`, `False` or `Unknown`.
        reason: The reason, in one word.
        message: The reason, for people.
        now: The time of the update; the transition time changes only with the status.
        again: Update the condition even if status and reason are the same, since progress was made.
    """
    present = condition_in(conditions, kind)
    if present is not None and (present["status"], present["reason"]) == (status, reason) and not again:
        return conditions
    time = timestamp(now)
    made = {"type": kind, "status": status, "lastUpdateTime": time, "lastTransitionTime": time}
    if present is not None and present["status"] == status:
        made["lastTransitionTime"] = present["lastTransitionTime"]
    return [*(each for each in conditions if each["type"] != kind), {**made, "reason": reason, "message": message}]


def numbers_of(
    deployment: Deployment, new: ReplicaSet | None, replica_sets: Sequence[ReplicaSet], now: datetime
) -> Status:
    """Return the status without the progress: the numbers, and whether enough pods are available."""
    total, available = counted_in(replica_sets, "replicas"), counted_in(replica_sets, "availableReplicas")
    conditions: Conditions = [*deployment.status.get("conditions", [])]
    if available >= deployment.spec.replicas - deployment.max_unavailable:
        reason, text = "MinimumReplicasAvailable", "Deployment has minimum availability."
        conditions = with_progress(conditions, AVAILABLE, "True", reason, text, now)
    else:
        reason, text = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
        conditions = with_progress(conditions, AVAILABLE, "False", reason, text, now)
    status = filled(
        observedGeneration=deployment.metadata.generation,
        replicas=total,
        updatedReplicas=counted_in([new] if new else [], "replicas"),
        readyReplicas=counted_in(replica_sets, "readyReplicas"),
        availableReplicas=available,
        unavailableReplicas=max(0, replicas_in(replica_sets) - available),
        conditions=conditions,
    )
    if "collisionCount" in deployment.status:
        status["collisionCount"] = deployment.status["collisionCount"]
    status["terminatingReplicas"] = counted_in(replica_sets, "terminatingReplicas")
    return status


def with_rollout(
    deployment: Deployment, new: ReplicaSet | None, replica_sets: Sequence[ReplicaSet], status: Status, now: datetime
) -> Status:
    """Return `status` with the progress of the rollout, and a failure of its ReplicaSets, added."""
    conditions: Conditions = [*status["conditions"]]
    present = condition_in(conditions, PROGRESSING)
    if not deployment.has_deadline:
        conditions = [each for each in conditions if each["type"] != PROGRESSING]
    elif not _was_complete(present, status):
        conditions = _with_step(deployment, new, status, present, conditions, now)
    failures = [condition_in(each.status.get("conditions") or [], FAILURE) for each in ([new] if new else [])]
    failures += [condition_in(each.status.get("conditions") or [], FAILURE) for each in replica_sets]
    failure = next((each for each in failures if each is not None), None)
    if failure is not None:
        reason, message = failure["reason"], failure["message"]
        conditions = with_progress(conditions, FAILURE, failure["status"], reason, message, now)
    else:
        conditions = [each for each in conditions if each["type"] != FAILURE]
    return {**status, "conditions": conditions}


def _was_complete(present: Mapping[str, Any] | None, status: Status) -> bool:
    whole = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return whole and present is not None and present["reason"] == COMPLETE


def is_complete(deployment: Deployment, status: Status) -> bool:
    """Return whether all pods have the current template and are available."""
    wanted = deployment.spec.replicas
    return (
        [status.get(field, 0) for field in ("updatedReplicas", "replicas", "availableReplicas")] == [wanted] * 3
    ) and status.get("observedGeneration", 0) >= deployment.metadata.generation


def _with_step(
    deployment: Deployment,
    new: ReplicaSet | None,
    status: Status,
    present: Mapping[str, Any] | None,
    conditions: Conditions,
    now: datetime,
) -> Conditions:
    subject = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return with_progress(conditions, PROGRESSING, "True", COMPLETE, message, now)
    if _moves(deployment.status, status):
        message = f"{subject} is progressing."
        return with_progress(conditions, PROGRESSING, "True", UPDATED, message, now, again=True)
    if _is_late(deployment, present, now):
        message = f"{subject} has timed out progressing."
        return with_progress(conditions, PROGRESSING, "False", EXCEEDED, message, now)
    return conditions


def _moves(before: Status, status: Status) -> bool:
    """Tell whether a status shows progress over the one before."""

    def old(each: Status) -> int:
        return int(each.get("replicas", 0) - each.get("updatedReplicas", 0))

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return any(status.get(field, 0) > before.get(field, 0) for field in grown) or old(status) < old(before)


def _is_late(deployment: Deployment, present: Mapping[str, Any] | None, now: datetime) -> bool:
    if present is None or present["reason"] == COMPLETE:
        return False
    return present["reason"] == EXCEEDED or late_in(deployment, present, now) < 0


def late_in(deployment: Deployment, progressing: Mapping[str, Any], now: datetime) -> float:
    """Return the seconds until a rollout without progress times out; negative if it has timed out."""
    since = datetime.fromisoformat(progressing["lastUpdateTime"])
    return (since + timedelta(seconds=deployment.spec.progress_deadline_seconds) - now).total_seconds()
