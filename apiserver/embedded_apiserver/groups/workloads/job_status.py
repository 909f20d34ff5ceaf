# SPDX-License-Identifier: Apache-2.0
"""Rules of the status of a job. Most are checked only when the fields that they are about change."""

from __future__ import annotations

from collections.abc import Iterator

from embedded_apiserver.causes import duplicate, invalid, invalid_part, required
from embedded_apiserver.checks.basic import non_negative
from embedded_apiserver.groups.workloads.indexes import indexes_in, overlap
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_NUMBERS = ("active", "succeeded", "failed", "ready", "terminating")
_PLACE = "status.conditions"


class _JobStatus:
    """A status of a job, and what its conditions say."""

    def __init__(self, job: Object) -> None:
        self.fields = part(job, "status")
        self._true = {
            one.get("type") for one in self.fields.get("conditions") or () if one.get("status") == "True"
        }  # their types
        self.complete = "Complete" in self._true
        self.failed = "Failed" in self._true
        self.met = "SuccessCriteriaMet" in self._true
        self.target = "FailureTarget" in self._true
        self.finished = self.complete or self.failed

    def has(self, kind: str) -> bool:
        return kind in self._true

    def says_false(self, kind: str) -> bool:
        conditions = self.fields.get("conditions") or ()
        return any(one.get("type") == kind and one.get("status") == "False" for one in conditions)


def job_status_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Job's status."""
    was, now, spec = _JobStatus(old), _JobStatus(new), part(new, "spec")
    changed = {name for name in {*was.fields, *now.fields} if was.fields.get(name) != now.fields.get(name)}
    yield from non_negative(now.fields, "status", *_NUMBERS)
    yield from _uncounted(now)
    yield from _outcomes(was, now, changed)
    yield from _finished(was, now, changed, spec)
    yield from _indexes(now, changed, spec)
    terminating = now.fields.get("terminating")
    if terminating and now.finished and (not was.finished or "terminating" in changed):
        yield invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")
    ready = now.fields.get("ready")
    if changed & {"ready", "active"} and ready is not None and ready > now.fields.get("active", 0):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")
    if now.met and now.failed:
        yield invalid_part(_PLACE, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if now.met and now.target:
        yield invalid_part(_PLACE, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if spec.get("successPolicy") is not None and not now.met and now.complete:
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        yield invalid_part(_PLACE, text)
    yield from _transitions(was, now, spec)


def _uncounted(now: _JobStatus) -> Iterator[Cause]:
    uncounted, seen = now.fields.get("uncountedTerminatedPods") or {}, set()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(name) or ()):
            field = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                yield invalid(field, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(field, uid)
            seen.add(uid)


def _outcomes(was: _JobStatus, now: _JobStatus, changed: set[str]) -> Iterator[Cause]:
    complete_changed, failed_changed = was.complete != now.complete, was.failed != now.failed
    end, start = now.fields.get("completionTime"), now.fields.get("startTime")
    if (complete_changed or failed_changed) and now.complete and now.failed:
        yield invalid_part(_PLACE, "cannot set Complete=True and Failed=true conditions")
    if (complete_changed or was.target != now.target) and now.complete and now.target:
        yield invalid_part(_PLACE, "cannot set Complete=True and FailureTarget=true conditions")
    if complete_changed or "completionTime" in changed:
        if end is not None and not now.complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            yield invalid("status.completionTime", end, text)
        if end is None and now.complete:
            yield required("status.completionTime", "completionTime is required for Complete jobs")
    if changed & {"startTime", "completionTime"} and start and end and end < start:
        yield invalid("status.completionTime", end, "must be equal to or after `startTime`")
    if (failed_changed or "failedIndexes" in changed) and now.failed and not now.target:
        yield invalid_part(_PLACE, "cannot set Failed=True condition without the FailureTarget=true condition")
    if (complete_changed or was.met != now.met) and now.complete and not now.met:
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        yield invalid_part(_PLACE, text)


def _finished(was: _JobStatus, now: _JobStatus, changed: set[str], spec: Object) -> Iterator[Cause]:
    if not now.finished:
        return
    is_new, active = was.finished != now.finished, now.fields.get("active", 0)
    if (is_new or "active" in changed) and active > 0:
        yield invalid("status.active", active, "active>0 is invalid for finished job")
    is_idle = spec.get("suspend") and spec.get("completions") == 0
    if (is_new or "startTime" in changed) and not is_idle and now.fields.get("startTime") is None:
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = now.fields.get("uncountedTerminatedPods")
    if (is_new or "uncountedTerminatedPods" in changed) and uncounted and any(uncounted.values()):
        value = shown("UncountedTerminatedPods", uncounted)
        yield invalid("status.uncountedTerminatedPods", value, "must be empty for finished job")


def _indexes(now: _JobStatus, changed: set[str], spec: Object) -> Iterator[Cause]:
    completed, failed = now.fields.get("completedIndexes", ""), now.fields.get("failedIndexes")
    completions, limit = spec.get("completions"), spec.get("backoffLimitPerIndex")
    if "completedIndexes" in changed and completions is not None:
        yield from _readable("completedIndexes", completed, completions)
    if "failedIndexes" in changed and None not in (completions, limit, failed):
        yield from _readable("failedIndexes", failed or "", completions or 0)
    if "completedIndexes" in changed and completed and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", completed, text)
    if "failedIndexes" in changed and limit is None and failed is not None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid("status.failedIndexes", failed, text)
    if not changed & {"completedIndexes", "failedIndexes"} or not completed or not failed or completions is None:
        return
    if (both := overlap(completed, failed, completions)) is not None:
        yield invalid("status.failedIndexes", failed, f"failedIndexes and completedIndexes overlap at index: {both}")


def _readable(name: str, text: str, completions: int) -> Iterator[Cause]:
    try:
        indexes_in(text, completions)
    except ValueError as error:
        yield invalid(f"status.{name}", text, f"error parsing {name}: {error}")


def _transitions(was: _JobStatus, now: _JobStatus, spec: Object) -> Iterator[Cause]:
    for kind in ("Failed", "Complete", "FailureTarget"):
        if was.has(kind) and not now.has(kind):
            yield invalid_part(_PLACE, f"cannot disable the terminal {kind}=True condition")
    if (failed := now.fields.get("failed", 0)) < was.fields.get("failed", 0):
        yield invalid("status.failed", failed, "cannot decrease the failed counter")
    is_scaled = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if (succeeded := now.fields.get("succeeded", 0)) < was.fields.get("succeeded", 0) and not is_scaled:
        yield invalid("status.succeeded", succeeded, "cannot decrease the succeeded counter")
    before, after = was.fields.get("completionTime"), now.fields.get("completionTime")
    if before is not None and after is not None and before != after:
        yield invalid("status.completionTime", after, "field is immutable")
    before, after = was.fields.get("startTime"), now.fields.get("startTime")
    resumes = was.has("Suspended") and now.says_false("Suspended")
    if before is not None and before != after and not spec.get("suspend") and not resumes:
        yield invalid("status.startTime", after, "field is immutable for unsuspended job once set")
    if was.met and not now.met:
        yield invalid_part(_PLACE, "cannot disable the SuccessCriteriaMet=True condition")
    if was.complete and not was.met and now.met:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield invalid_part(_PLACE, text)
