# SPDX-License-Identifier: Apache-2.0
"""Cells of the kinds that create pods."""

from __future__ import annotations

from datetime import datetime

from embedded_apiserver.groups.pods.columns import pods_of
from embedded_apiserver.kinds.ages import short_duration
from embedded_apiserver.kinds.cells import (
    NAMED,
    NONE,
    Cells,
    age_of,
    at,
    count_of,
    labels_at,
    of,
    selector_at,
    value_at,
)
from embedded_apiserver.objects import Object


def _ready(obj: Object) -> str:
    return f"{value_at(obj, 'status.readyReplicas') or 0}/{value_at(obj, 'spec.replicas') or 0}"


def _job_status(job: Object) -> str:
    held = {one["type"] for one in value_at(job, "status.conditions") or () if one.get("status") == "True"}
    for type_, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if type_ in held:
            return word
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    for type_ in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if type_ in held:
            return type_
    return "Running"


def _completions(job: Object) -> str:
    wanted, done = value_at(job, "spec.completions"), value_at(job, "status.succeeded") or 0
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = value_at(job, "spec.parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _took(job: Object, now: datetime) -> str:
    start, end = (value_at(job, f"status.{name}Time") for name in ("start", "completion"))
    if not start:
        return ""
    until = datetime.fromisoformat(end) if end else now
    return short_duration((until - datetime.fromisoformat(start)).total_seconds())


def _is_suspended(job: Object) -> str:
    return str(bool(value_at(job, "spec.suspend")))


def _last_schedule(job: Object, now: datetime) -> str:
    path = "status.lastScheduleTime"
    return str(age_of(path)(job, now)) if value_at(job, path) else NONE


def _owner(obj: Object) -> str:
    owner = next((one for one in obj["metadata"].get("ownerReferences", ()) if one.get("controller")), None)
    if owner is None:
        return NONE
    group = owner["apiVersion"].rpartition("/")[0]
    return f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"


_SELECTOR: Cells = {"Selector": selector_at("spec.selector")}
_REPLICAS: Cells = {
    **NAMED,
    "Desired": at("spec.replicas", 0),
    "Current": at("status.replicas", 0),
    "Ready": at("status.readyReplicas", 0),
    **pods_of(),
}
CONTROLLERS: Cells = {**_REPLICAS, "Selector": labels_at("spec.selector")}
DEPLOYMENTS: Cells = {
    **NAMED,
    **pods_of(),
    **_SELECTOR,
    "Ready": of(_ready),
    "Up-to-date": at("status.updatedReplicas", 0),
    "Available": at("status.availableReplicas", 0),
}
REPLICA_SETS: Cells = {**_REPLICAS, **_SELECTOR}
STATEFUL_SETS: Cells = {**NAMED, "Ready": of(_ready), **pods_of()}
DAEMON_SETS: Cells = {
    **NAMED,
    **pods_of(),
    **_SELECTOR,
    "Desired": at("status.desiredNumberScheduled", 0),
    "Current": at("status.currentNumberScheduled", 0),
    "Ready": at("status.numberReady", 0),
    "Up-to-date": at("status.updatedNumberScheduled", 0),
    "Available": at("status.numberAvailable", 0),
    "Node Selector": labels_at("spec.template.spec.nodeSelector"),
}
REVISIONS: Cells = {**NAMED, "Controller": of(_owner), "Revision": at("revision", 0)}
JOBS: Cells = {
    **NAMED,
    **pods_of(),
    **_SELECTOR,
    "Status": of(_job_status),
    "Completions": of(_completions),
    "Duration": _took,
}
CRON_JOBS: Cells = {
    **NAMED,
    **pods_of("spec.jobTemplate.spec.template"),
    "Schedule": at("spec.schedule", ""),
    "Timezone": at("spec.timeZone"),
    "Suspend": of(_is_suspended),
    "Active": count_of("status.active"),
    "Last Schedule": _last_schedule,
    "Selector": selector_at("spec.jobTemplate.spec.selector"),
}
