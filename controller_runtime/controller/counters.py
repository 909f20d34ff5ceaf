# SPDX-License-Identifier: Apache-2.0
"""The metrics of a controller, with the meanings and the buckets of Go's `controller_runtime_*` metrics."""

from __future__ import annotations

import enum
import itertools
from collections import deque
from typing import TypeAlias

import attrs

from apimachinery.host import Host
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.counters import Histogram
from controller_runtime.queue.causes import Causes

KEPT = 256
"""The number of reconciles of a controller that are remembered, of all its requests together; about 50 KiB."""

# The buckets of controller-runtime's `controller_runtime_reconcile_time_seconds`, in seconds.
# fmt: off
_BOUNDS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
    1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0,
    40.0, 50.0, 60.0,
)
# fmt: on


class Outcome(enum.Enum):
    """The outcomes of a reconcile, which the metrics count; see `outcome.settle`."""

    SUCCESS = enum.auto()
    REQUEUE_AFTER = enum.auto()
    ERROR = enum.auto()
    TERMINAL_ERROR = enum.auto()
    PANIC = enum.auto()
    CANCELLED = enum.auto()


@attrs.frozen(kw_only=True)
class ReconcileCounters:
    """The metrics of one controller at one moment.

    Attributes:
        outcomes: Number of reconciles by outcome.
        durations: Histogram of the seconds that reconciles took.
        timeouts: Number of reconciles that took at least their controller's `reconcile_timeout`, with any outcome.
        cancellations_ignored: Number of coroutines that continued after they were cancelled; zero for a reconciler on
            threads.
        active_workers: Number of workers inside a reconcile now.
    """

    outcomes: dict[Outcome, int]
    durations: Histogram
    timeouts: int
    cancellations_ignored: int
    active_workers: int

    @property
    def reconciles(self) -> int:
        """The number of reconciles that have ended, with any outcome."""
        return sum(self.outcomes.values())

    @property
    def success(self) -> int:
        """The number of reconciles that returned a `Result` without `requeue_after`."""
        return self.outcomes[Outcome.SUCCESS]

    @property
    def requeue_after(self) -> int:
        """The number of reconciles that returned a `Result` with `requeue_after`."""
        return self.outcomes[Outcome.REQUEUE_AFTER]

    @property
    def errors(self) -> int:
        """The number of reconciles that failed, with an expected, a terminal or an unexpected error."""
        failed = (Outcome.ERROR, Outcome.TERMINAL_ERROR, Outcome.PANIC)
        return sum(self.outcomes[outcome] for outcome in failed)

    @property
    def terminal_errors(self) -> int:
        """The number of failed reconciles (part of `errors`) that are not retried."""
        return self.outcomes[Outcome.TERMINAL_ERROR]

    @property
    def panics(self) -> int:
        """The number of failed reconciles (part of `errors`) with an unexpected error, which is most likely a bug."""
        return self.outcomes[Outcome.PANIC]


# One reconcile that has ended: its request, when it ended (monotonic seconds) and why it was requested. A plain tuple,
# because each reconcile makes one, and few are ever read.
Ended: TypeAlias = tuple[Request, float, Causes]
_Note: TypeAlias = tuple[Ended, Outcome, float, bool]

# Notes that are counted at a time: few enough to be counted in 0.1 ms, and enough that workers seldom meet at the lock.
_BATCH = 64


class ReconcileTally:
    """Counts the reconciles of one controller, and remembers the last ones.

    For speed, workers take no lock for each reconcile: threads that wait for a lock would constantly wake each other.
    They append notes to a list, which are counted under the lock in batches of `_BATCH`, and before each read.

    Threads: any.
    """

    def __init__(self, host: Host, name: str) -> None:
        # Each of these three is changed by single operations that no other thread sees half done, with or without the
        # GIL: `next` of a counter, setting and popping a key of a dict, and both ends of a deque.
        self._numbers = itertools.count(1)
        self._active: dict[Request, None] = {}  # the requests being reconciled
        self._notes: deque[_Note] = deque()  # reconciles that have ended and are not counted yet, the oldest first
        # Guards everything below.
        self._lock = host.lock(f"{name} counters")
        self._outcomes = dict.fromkeys(Outcome, 0)
        self._durations = Histogram(_BOUNDS)
        self._timeouts = 0
        self._cancellations_ignored = 0
        self._ended: deque[tuple[Ended, Outcome, float]] = deque(maxlen=KEPT)

    def begin(self, request: Request) -> int:
        """Record that a reconcile begins, and return its number: 1 for the first one of the controller."""
        self._active[request] = None
        return next(self._numbers)

    def end(self, outcome: Outcome, took: float, ended: Ended, *, is_late: bool = False) -> None:
        """Count a reconcile that has ended, and remember it.

        Args:
            outcome: How the reconcile ended.
            took: The duration of the reconcile in seconds.
            ended: The reconcile that has ended.
            is_late: Whether `took` is at least the controller's timeout.
        """
        # Without the lock: a deque is appended to, and its length read, as a whole. Two threads may count at once, or
        # a note may wait for the next batch; readers count what is left.
        notes = self._notes
        notes.append((ended, outcome, took, is_late))
        self._active.pop(ended[0], None)
        if len(notes) >= _BATCH:
            with self._lock:
                self._count()

    def last(self) -> list[tuple[Ended, Outcome, float]]:
        """Return the last reconciles, the oldest first, each with its outcome and its duration in seconds."""
        with self._lock:
            self._count()
            return [*self._ended]

    def ignore_cancellation(self) -> None:
        """Count a coroutine that continues although it was cancelled."""
        with self._lock:
            self._cancellations_ignored += 1

    def snapshot(self) -> ReconcileCounters:
        """Return all metrics as a value that later counting does not change."""
        with self._lock:
            self._count()
            return ReconcileCounters(
                outcomes=self._outcomes.copy(),
                durations=self._durations.copy(),
                timeouts=self._timeouts,
                cancellations_ignored=self._cancellations_ignored,
                active_workers=len(self._active),
            )

    def _count(self) -> None:
        for _ in range(len(self._notes)):  # only holders of the lock remove notes, so there are as many at least
            ended, outcome, took, is_late = self._notes.popleft()
            self._timeouts += is_late
            self._outcomes[outcome] += 1
            self._durations.observe(took)
            self._ended.append((ended, outcome, took))
