# SPDX-License-Identifier: Apache-2.0
"""The state of taint eviction: which pods have to leave and when, and how late the deleted ones were."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.core.counters import Histogram
from controllers.taint_eviction.toleration import Taint

BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0)
"""Upper bounds of the histogram of deletions, in seconds; upstream's."""


@attrs.frozen
class Countdown:
    """The time at which one pod must be evicted from its node.

    Attributes:
        uid: The uid of the pod, since a new pod of the same name starts again.
        at: The time of the eviction in monotonic seconds; -inf if the pod must leave immediately.
        taints: The taints that cause the eviction, as last seen.
        written: The resourceVersion of the pod after our last write, once its deletion was requested; empty before.
    """

    uid: str
    at: float
    taints: Sequence[Taint] = ()
    written: str = ""

    def is_done(self, version: str) -> bool:
        """Return whether the pod's deletion was requested, and the cache that has it at `version` does not show that
        yet.
        """
        return bool(self.written) and compare_versions(version, self.written) <= 0


class Countdowns:
    """The countdowns by pod, and a histogram of how late pods were deleted.

    Threads: any; one at a time for each pod.
    """

    def __init__(self, host: Host) -> None:
        # Guards both below.
        self._lock = host.lock("countdowns")
        self._running: dict[ObjectKey, Countdown] = {}
        self._deletions = Histogram(BUCKETS)

    def __len__(self) -> int:
        return len(self._running)  # the length of a dict is one number

    def get(self, pod: ObjectKey) -> Countdown | None:
        """Return the countdown of a pod; None if it has none."""
        with self._lock:
            return self._running.get(pod)

    def put(self, pod: ObjectKey, countdown: Countdown) -> None:
        """Set the countdown of a pod."""
        with self._lock:
            self._running[pod] = countdown

    def drop(self, pod: ObjectKey) -> None:
        """Remove the countdown of a pod, if it has one."""
        with self._lock:
            self._running.pop(pod, None)

    def count_deletion(self, late: float) -> None:
        """Count a pod that was deleted `late` seconds after its countdown ended."""
        with self._lock:
            self._deletions.observe(late)

    def deletions(self) -> Histogram:
        """Return a copy of the histogram of how late pods were deleted, in seconds."""
        with self._lock:
            return self._deletions.copy()
