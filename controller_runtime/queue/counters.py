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
        adds: Additions that queued an item. An addition does not count if the item is queued already; it does if the
            item is being processed.
        retries: Additions with a delay.
        depth: Items queued in the normal band.
        low_depth: Items queued in the low band.
        queue_duration: How long items were queued: from their addition (a delayed item: from its due time) until `get`
            returned them.
        work_duration: How long items were processed: from `get` to `done`.
        unfinished_work: The sum of the times for which the items now in process have been processed.
        longest_running: The longest of these times.
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
    """The counters and histograms of a queue, which only grow. The queue's lock guards them."""

    __slots__ = ("adds", "queue_duration", "retries", "work_duration")

    def __init__(self) -> None:
        self.adds = 0
        self.retries = 0
        self.queue_duration = Histogram(_BOUNDS)
        self.work_duration = Histogram(_BOUNDS)

    def snapshot(self, depth: int, low_depth: int, processed_for: list[float]) -> QueueCounters:
        """Return all metrics as a value that later counting does not change.

        Args:
            depth: The number of items queued in the normal band.
            low_depth: The number of items queued in the low band.
            processed_for: For each item that is being processed, the seconds since `get` returned it.
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
