# SPDX-License-Identifier: Apache-2.0
"""The one state of the taint eviction: which pods have to leave and when, and how many have been made to."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.core.counters import Histogram
from controller_runtime.core.host import Host
from controllers.taint_eviction.toleration import Taint

BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0)
"""Seconds; upstream's."""


@attrs.frozen
class Countdown:
    """A pod that has to leave its node.

    Attributes:
        uid: Which pod: another of its name has a time of its own.
        at: When, in monotonic seconds; -inf is at once.
        taints: What it has to leave for, as last seen.
        written: Once it was deleted: its version just before.
    """

    uid: str
    at: float
    taints: Sequence[Taint] = ()
    written: str = ""

    def is_done(self, version: str) -> bool:
        """Whether a pod that is seen at `version` was deleted since: nothing is left to do but to see it go."""
        return bool(self.written) and compare_versions(version, self.written) <= 0


class Countdowns:
    """The countdowns by pod, and the deletions that were made.

    Threads: any; one at a time for each pod.
    """

    def __init__(self, host: Host) -> None:
        # Guards both below.
        self._lock = host.lock("countdowns")
        self._running: dict[ObjectKey, Countdown] = {}
        self._deletions = Histogram(BUCKETS)

    def __len__(self) -> int:
        return len(self._running)

    def get(self, pod: ObjectKey) -> Countdown | None:
        """The pod's, if it has to leave."""
        with self._lock:
            return self._running.get(pod)

    def put(self, pod: ObjectKey, countdown: Countdown) -> None:
        """It has to leave."""
        with self._lock:
            self._running[pod] = countdown

    def drop(self, pod: ObjectKey) -> None:
        """It has not, or it has left."""
        with self._lock:
            self._running.pop(pod, None)

    def count_deletion(self, late: float) -> None:
        """Count a pod that was deleted `late` seconds after its time had come."""
        with self._lock:
            self._deletions.observe(late)

    def deletions(self) -> Histogram:
        """How late the deletions so far were."""
        with self._lock:
            return self._deletions.copy()
