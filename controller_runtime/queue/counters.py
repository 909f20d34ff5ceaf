# SPDX-License-Identifier: Apache-2.0
"""The metrics of a work queue, with the meanings and the buckets of the `workqueue_*` metrics of client-go."""

from __future__ import annotations

import itertools

import attrs

from controller_runtime.core.counters import Histogram

# Multiplied one by one, as client-go does, so that the bounds come out as the same floats: 9.999999999999999e-06.
_BOUNDS = tuple(itertools.accumulate(range(11), lambda bound, _: bound * 10.0, initial=1e-8))


@attrs.frozen(kw_only=True)
class QueueCounters:
    """The metrics of one queue at one instant; durations in seconds.

    Attributes:
        adds: Additions that queued an item. An addition of an item that is queued already does not count; one of an
            item that is being processed does.
        retries: Additions with a delay.
        depth: Items queued in the normal band.
        low_depth: Items queued in the low band.
        queue_duration: How long items were queued: from their addition, or from when a delayed one fell due, until
            they were handed out.
        work_duration: How long items were processed: from `get` to `done`.
        unfinished_work: The sum of how long each item that is being processed has been so.
        longest_running: The largest of these.
    """

    adds: int
    retries: int
    depth: int
    low_depth: int
    queue_duration: Histogram
    work_duration: Histogram
    unfinished_work: float
    longest_running: float


class QueueTally:
    """The metrics that only grow. Nothing that the queue does depends on them; the queue's lock guards them."""

    __slots__ = ("adds", "queue_duration", "retries", "work_duration")

    def __init__(self) -> None:
        self.adds = 0
        self.retries = 0
        self.queue_duration = Histogram(_BOUNDS)
        self.work_duration = Histogram(_BOUNDS)

    def snapshot(self, depth: int, low_depth: int, processed_for: list[float]) -> QueueCounters:
        """Return all metrics as a value that later counting does not change.

        Args:
            depth: Items queued in the normal band.
            low_depth: Items queued in the low band.
            processed_for: Seconds for which each item that is being processed has been so.
        """
        return QueueCounters(
            adds=self.adds,
            retries=self.retries,
            depth=depth,
            low_depth=low_depth,
            queue_duration=self.queue_duration.copy(),
            work_duration=self.work_duration.copy(),
            unfinished_work=sum(processed_for),
            longest_running=max(processed_for, default=0.0),
        )
