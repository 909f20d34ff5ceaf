# SPDX-License-Identifier: Apache-2.0
"""Counts the pods of a Job, each once, although a program may end at any point.

The status names the pods that have ended and still have their finalizer; then the finalizers are removed, and then the
pods without one become numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from controllers.workloads.job_views import TRACKING, Job, index_of, parse_indexes
from controllers.workloads.pods import Pod


@attrs.define
class Count:
    """The counts of a Job's ended pods.

    Attributes:
        succeeded: Number of pods that succeeded and no longer have the finalizer; for an indexed Job, of `indexes`.
        failed: Number of pods that failed and no longer have the finalizer.
        indexes: The completed indexes of an indexed Job.
        uncounted_succeeded: The uids of pods that succeeded and still have the finalizer.
        uncounted_failed: The uids of pods that failed and still have the finalizer.
        release: The pods whose finalizer must be removed once the status lists them.
    """

    succeeded: int
    failed: int
    indexes: set[int]
    uncounted_succeeded: list[str]
    uncounted_failed: list[str]
    release: list[Pod]


def count_pods(job: Job, pods: Sequence[Pod]) -> Count:
    """Count the pods of a Job, each once: those that the status lists already, and those that have ended since."""
    uncounted = job.status.get("uncountedTerminatedPods") or {}
    tracked = {pod.metadata.uid for pod in pods if TRACKING in (pod.metadata.finalizers or ())}
    before = [*uncounted.get("succeeded", [])], [*uncounted.get("failed", [])]
    kept = [[uid for uid in uids if uid in tracked] for uids in before]
    count = Count(
        succeeded=int(job.status.get("succeeded", 0)) + len(before[0]) - len(kept[0]),
        failed=int(job.status.get("failed", 0)) + len(before[1]) - len(kept[1]),
        indexes=parse_indexes(job.status.get("completedIndexes", "")),
        uncounted_succeeded=kept[0],
        uncounted_failed=kept[1],
        release=[],
    )
    for pod in pods:
        uid = pod.metadata.uid
        if uid not in tracked:
            continue
        succeeded, failed = pod.status.phase == "Succeeded", _has_failed(job, pod)
        if not succeeded and not failed and not job.metadata.deletion_timestamp:
            continue
        count.release.append(pod)
        index = index_of(pod) if job.is_indexed else None
        if succeeded and job.is_indexed:
            if index is not None and index < (job.spec.completions or 0):
                count.indexes.add(index)
        elif succeeded and uid not in count.uncounted_succeeded:
            count.uncounted_succeeded.append(uid)
        elif failed and not succeeded and uid not in count.uncounted_failed:
            count.uncounted_failed.append(uid)
    if job.is_indexed:
        count.succeeded = len(count.indexes)
    return count


def _has_failed(job: Job, pod: Pod) -> bool:
    """Tell whether a pod counts as failed: also one that is deleted, unless only failed pods are replaced."""
    if pod.status.phase == "Failed":
        return True
    only_failed = job.spec.pod_replacement_policy == "Failed"
    return pod.is_terminating and not pod.has_ended and not only_failed
