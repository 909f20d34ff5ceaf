# SPDX-License-Identifier: Apache-2.0
"""The metrics of a controller, with the meanings and the buckets of Go's `controller_runtime_*` metrics."""

from __future__ import annotations

import enum
from collections import deque
from typing import TypeAlias

import attrs

from controller_runtime.controller.reconciler import Request
from controller_runtime.core.counters import Histogram
from controller_runtime.core.host import Host
from controller_runtime.queue.causes import Causes

KEPT = 256
"""How many reconciles of a controller are remembered, of all its requests together; about 50 KiB."""

# The buckets of controller-runtime's `controller_runtime_reconcile_time_seconds`, in seconds.
# fmt: off
_BOUNDS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
    1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0,
    40.0, 50.0, 60.0,
)
# fmt: on


class Outcome(enum.Enum):
    """How one reconcile ended, as `outcome.settle` decides."""

    SUCCESS = enum.auto()
    REQUEUE_AFTER = enum.auto()
    ERROR = enum.auto()
    TERMINAL_ERROR = enum.auto()
    PANIC = enum.auto()
    CANCELLED = enum.auto()


@attrs.frozen(kw_only=True)
class ReconcileCounters:
    """The metrics of one controller at one instant.

    Attributes:
        outcomes: Number of reconciles by how they ended.
        durations: Seconds that each reconcile took.
        timeouts: Number of reconciles that took at least their controller's `reconcile_timeout`, however they ended.
        cancellations_ignored: Number of coroutines that went on after they were cancelled; always zero for a reconciler
            that is not a coroutine.
        active_workers: Number of workers inside a reconcile now.
    """

    outcomes: dict[Outcome, int]
    durations: Histogram
    timeouts: int
    cancellations_ignored: int
    active_workers: int

    @property
    def reconciles(self) -> int:
        """Number of reconciles that have ended, in whatever way."""
        return sum(self.outcomes.values())

    @property
    def success(self) -> int:
        """Number of reconciles that returned a `Result` without `requeue_after`."""
        return self.outcomes[Outcome.SUCCESS]

    @property
    def requeue_after(self) -> int:
        """Number of reconciles that returned a `Result` with `requeue_after`."""
        return self.outcomes[Outcome.REQUEUE_AFTER]

    @property
    def errors(self) -> int:
        """Number of reconciles that failed: with an expected error, a terminal one, or an unexpected one."""
        failed = (Outcome.ERROR, Outcome.TERMINAL_ERROR, Outcome.PANIC)
        return sum(self.outcomes[outcome] for outcome in failed)

    @property
    def terminal_errors(self) -> int:
        """Number of the failed reconciles, counted in `errors`, that are not retried."""
        return self.outcomes[Outcome.TERMINAL_ERROR]

    @property
    def panics(self) -> int:
        """Number of the failed reconciles, counted in `errors`, that raised something unexpected: most likely bugs."""
        return self.outcomes[Outcome.PANIC]


# One reconcile that has ended: its request, when it ended (monotonic seconds) and why it was requested. A plain tuple,
# because each reconcile makes one, and few are ever read.
Ended: TypeAlias = tuple[Request, float, Causes]


class ReconcileTally:
    """Counts the reconciles of one controller, and remembers the last ones. Threads: any."""

    def __init__(self, host: Host, name: str) -> None:
        # Guards everything below.
        self._lock = host.lock(f"{name} counters")
        self._outcomes = dict.fromkeys(Outcome, 0)
        self._durations = Histogram(_BOUNDS)
        self._timeouts = 0
        self._cancellations_ignored = 0
        self._active = 0
        self._begun = 0
        self._ended: deque[tuple[Ended, Outcome, float]] = deque(maxlen=KEPT)

    def begin(self) -> int:
        """Count a reconcile that begins, and return its number: 1 for the first of the controller."""
        with self._lock:
            self._active += 1
            self._begun += 1
            return self._begun

    def end(self, outcome: Outcome, took: float, ended: Ended, *, is_late: bool = False) -> None:
        """Count a reconcile that ends, and remember it.

        Args:
            outcome: How the reconcile ended.
            took: Seconds that it took.
            ended: The reconcile that has ended.
            is_late: Whether `took` is at least the controller's timeout.
        """
        with self._lock:
            self._active -= 1
            self._timeouts += is_late
            self._outcomes[outcome] += 1
            self._durations.observe(took)
            self._ended.append((ended, outcome, took))

    def last(self) -> list[tuple[Ended, Outcome, float]]:
        """Return the last reconciles, the oldest first."""
        with self._lock:
            return [*self._ended]

    def ignore_cancellation(self) -> None:
        """Count a coroutine that goes on though it was cancelled."""
        with self._lock:
            self._cancellations_ignored += 1

    def snapshot(self) -> ReconcileCounters:
        """Return all metrics as a value that later counting does not change."""
        with self._lock:
            return ReconcileCounters(
                outcomes=self._outcomes.copy(),
                durations=self._durations.copy(),
                timeouts=self._timeouts,
                cancellations_ignored=self._cancellations_ignored,
                active_workers=self._active,
            )
