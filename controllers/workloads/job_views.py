# SPDX-License-Identifier: Apache-2.0
"""A Job as its controllers read it, and the indexes of an indexed one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

import msgspec

from apimachinery.objects import ObjectMeta
from controllers.workloads.pods import Pod, Template
from controllers.workloads.status import Status

TRACKING = "batch.kubernetes.io/job-tracking"
"""Finalizer of a pod that has not been counted yet."""
INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"
COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
CRITERIA_MET, FAILURE_TARGET = "SuccessCriteriaMet", "FailureTarget"


class JobSpec(msgspec.Struct, gc=False, rename="camel"):
    """The fields of the spec that the controllers read."""

    template: Template
    selector: dict[str, Any] = msgspec.field(default_factory=dict)
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    pod_replacement_policy: str = "TerminatingOrFailed"
    managed_by: str = ""


class Job(msgspec.Struct, gc=False):
    """A Job."""

    metadata: ObjectMeta
    spec: JobSpec
    status: Status = msgspec.field(default_factory=dict)

    @property
    def is_indexed(self) -> bool:
        """Whether each completion has an index."""
        return self.spec.completion_mode == "Indexed"

    def condition(self, kind: str) -> dict[str, Any] | None:
        """Return the condition of the type `kind` if its status is True; otherwise None."""
        found = [each for each in self.status.get("conditions") or () if each["type"] == kind]
        return found[0] if found and found[0]["status"] == "True" else None

    @property
    def is_finished(self) -> bool:
        """Whether the Job is complete or has failed."""
        return self.condition(COMPLETE) is not None or self.condition(FAILED) is not None

    @property
    def finished_at(self) -> datetime | None:
        """The time at which the Job became complete or failed; None before."""
        found = self.condition(COMPLETE) or self.condition(FAILED)
        return datetime.fromisoformat(found["lastTransitionTime"]) if found else None


def index_of(pod: Pod) -> int | None:
    """Return the completion index of a pod; None if it has none."""
    text = (pod.metadata.annotations or {}).get(INDEX_ANNOTATION, "")
    return int(text) if text.isdecimal() else None


def parse_indexes(text: str) -> set[int]:
    """Return the numbers in a text such as `0,2-4`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def indexes_text(indexes: Collection[int]) -> str:
    """Return numbers as a text such as `0,2-4`, in which consecutive numbers are a range."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in _runs(sorted(indexes)))


def _runs(numbers: Iterable[int]) -> Iterable[tuple[int, int]]:
    start = last = None
    for number in numbers:
        if last is None or start is None:
            start = last = number
        elif number == last + 1:
            last = number
        else:
            yield start, last
            start = last = number
    if start is not None and last is not None:
        yield start, last
