# SPDX-License-Identifier: Apache-2.0
"""Rules of cron jobs: a schedule, a time zone, and the jobs that they create."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from embedded_apiserver.causes import invalid, not_supported, required
from embedded_apiserver.checks.basic import given_one_of, non_negative
from embedded_apiserver.groups.workloads.cron import schedule_problem
from embedded_apiserver.groups.workloads.jobs import job_spec
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_LONGEST_NAME = 52  # characters, so that the names of its jobs, with eleven more, are labels
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def new_cron_job(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new CronJob, except in its general metadata."""
    yield from cron_job(part(obj, "spec"), None)
    if len(name := obj["metadata"].get("name", "")) > _LONGEST_NAME:
        yield invalid("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters")


def cron_job(spec: Object, before: Object | None) -> Iterator[Cause]:
    """Return the validation errors of the spec of a CronJob; `before` is the spec that it replaces, None for a new
    one.
    """
    schedule, zone = spec.get("schedule", ""), spec.get("timeZone")
    if not schedule:
        yield required("spec.schedule")
    else:
        had_zone = "TZ" in (before or {}).get("schedule", "")
        yield from _schedule(schedule, zone, had_zone=had_zone)
    yield from non_negative(spec, "spec", "startingDeadlineSeconds")
    if zone is not None and (before is None or before.get("timeZone") != zone):
        yield from _zone(zone)
    policy = spec.get("concurrencyPolicy")
    yield from given_one_of(policy, ("Allow", "Forbid", "Replace"), "spec.concurrencyPolicy")
    template = part(part(spec, "jobTemplate"), "spec")
    yield from job_spec(template, "spec.jobTemplate.spec")
    if (selector := template.get("selector")) is not None:
        value = shown("selector", selector)
        yield invalid("spec.jobTemplate.spec.selector", value, "`selector` will be auto-generated")
    if template.get("manualSelector"):
        yield not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    yield from non_negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _schedule(text: str, zone: str | None, *, had_zone: bool) -> Iterator[Cause]:
    if problem := schedule_problem(text):
        yield invalid("spec.schedule", text, problem)
    if "TZ" in text and had_zone and zone is not None:
        yield invalid("spec.schedule", text, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
    elif "TZ" in text and not had_zone:
        yield invalid("spec.schedule", text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


def _zone(name: str) -> Iterator[Cause]:
    field = "spec.timeZone"
    if not name:
        yield invalid(field, name, "timeZone must be nil or non-empty string")
        return
    for step in name.split("/"):
        if step in (".", "..") or step.startswith("-") or not _ZONE_PART.fullmatch(step):
            yield invalid(field, name, f"unknown time zone {name}")
            return
    if name.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(field, name, text)
    if not _is_zone(name):
        yield invalid(field, name, f"unknown time zone {name}")


@functools.lru_cache(maxsize=256)
def _is_zone(name: str) -> bool:
    """Return whether there is a time zone of this name; True for any name on a machine without time zones."""
    return name in ("Local", "UTC") or _has_zone(name) or not _has_zone("Etc/UTC")


def _has_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return False
    return True


def cron_job_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a CronJob."""
    if part(old, "spec") != part(new, "spec"):
        yield from cron_job(part(new, "spec"), part(old, "spec"))
