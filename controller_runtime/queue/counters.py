# SPDX-License-Identifier: Apache-2.0
"""What a work queue counts, with the meanings and the buckets of upstream's `workqueue_*` metrics."""

from __future__ import annotations

import itertools

import attrs

from controller_runtime.core.counters import Histogram

# Multiplied one by one, as upstream does, so that they come out as the same floats: 9.999999999999999e-06.
_BOUNDS = tuple(itertools.accumulate(range(11), lambda bound, _: bound * 10.0, initial=1e-8))


@attrs.frozen(kw_only=True)
class QueueCounters:
    """The counters of one queue at one instant; durations in seconds.

    Attributes:
        adds: Accepted additions; a duplicate is none, one while the item is held is one.
        retries: Additions with a delay.
        depth: Items of the normal band that were added and not handed out yet.
        low_depth: The same for the low band.
        queue_duration: From added (or due) to handed out.
        work_duration: From handed out to done.
        unfinished_work: Ages of all held items together.
        longest_running: Age of the item held longest.
    """

    adds: int
    retries: int
    depth: int
    low_depth: int
    queue_duration: Histogram
    work_duration: Histogram
    unfinished_work: float
    longest_running: float


class Tally:
    """The counts while they are made; the queue's lock guards them."""

    __slots__ = ("adds", "again", "depth", "queue_duration", "retries", "work_duration")

    def __init__(self) -> None:
        self.adds = 0
        self.retries = 0
        # READY and AGAIN turns of the normal and of the low band; `again` is the latter part of them.
        self.depth = [0, 0]
        self.again = 0
        self.queue_duration = Histogram(_BOUNDS)
        self.work_duration = Histogram(_BOUNDS)

    def snapshot(self, held_for: list[float]) -> QueueCounters:
        """A value of its own, given the ages of the items that are held now."""
        return QueueCounters(
            adds=self.adds,
            retries=self.retries,
            depth=self.depth[False],
            low_depth=self.depth[True],
            queue_duration=self.queue_duration.copy(),
            work_duration=self.work_duration.copy(),
            unfinished_work=sum(held_for),
            longest_running=max(held_for, default=0.0),
        )
