# SPDX-License-Identifier: Apache-2.0
"""The beginning and the end of each reconcile of one controller, whether threads or coroutines run them."""

from __future__ import annotations

from contextlib import AbstractContextManager

from apimachinery.host import Host
from apimachinery.log import bound
from controller_runtime.controller.counters import ReconcileTally
from controller_runtime.controller.observers import NOBODY, Observers
from controller_runtime.controller.outcome import is_bug, is_late, settle
from controller_runtime.controller.panics import Panic
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.controller.unreadable import UnreadableObjects
from controller_runtime.core.story import begin_steps, end_steps
from controller_runtime.core.written_versions import RunningReconcile, running_reconcile
from controller_runtime.queue.workqueue import WorkQueue


class Settlement:
    """Begins and ends each reconcile: counts it, retries or forgets its request, and reports unexpected errors.

    Args:
        host: The source of time, locks and randomness.
        name: The controller's name.
        queue: The queue that the requests come from.
        timeout: Seconds that one reconcile may take; None for no limit. A longer one counts as failed.
        observers: Receive unexpected errors, records, spans and writes of reconciles.
        may_wake_itself: Leave its writes unwatched, so that they count as written by others.
        unreadable: Decides which unreadable objects end the retries of a request; with None, none does.

    Attributes:
        timeout: As given.
        tally: Counts the reconciles.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        name: str,
        queue: WorkQueue[Request],
        *,
        timeout: float | None = None,
        observers: Observers = NOBODY,
        unreadable: UnreadableObjects | None = None,
        may_wake_itself: bool = False,
    ) -> None:
        self.timeout = timeout
        self.tally = ReconcileTally(host, name)
        self._host = host
        self._name = name
        self._queue = queue
        self._on_panic = observers.on_panic
        self._stories = observers.stories
        self._unreadable = unreadable
        self._tracing = observers.tracing
        self._self_wakes = None if may_wake_itself else observers.self_wakes
        self._attempts = None if observers.recorder is None else observers.recorder.of(name, timeout)

    def begin(self, request: Request) -> AbstractContextManager[None]:
        """Count a reconcile that begins, and return the context manager that runs and settles it."""
        if self._stories.is_recording:
            begin_steps()
        if self._self_wakes is not None:
            running = running_reconcile.get()
            if running is None or running.queue is not self._queue:
                running = RunningReconcile(self._self_wakes, self._name, self._queue)
                running_reconcile.set(running)
            running.request = request
        if self._attempts is not None:
            self._attempts.begin()
        number = self.tally.begin(request)
        if self._tracing is None:
            return bound(controller=self._name, request=request, reconcile=number)
        return self._tracing.reconcile(self._name, request, number, self._queue.causes(request))

    def settle(self, request: Request, end: Result | BaseException, took: float) -> None:
        """Retry, requeue or forget a request after its reconcile. See `outcome.settle` about where to call this.

        Args:
            request: The key that was reconciled.
            end: The value that the reconciler returned, or the error that it raised.
            took: Seconds that the reconcile took.
        """
        causes, timeout = self._queue.causes(request), self.timeout
        attempt = None if self._attempts is None else self._attempts.take()
        outcome = settle(
            self._queue,
            request,
            end,
            took,
            self._host.random,
            causes=causes,
            timeout=timeout,
            unreadable=self._unreadable,
        )
        ended = (request, self._host.monotonic(), causes)
        late = is_late(took, timeout)
        self.tally.end(outcome, took, ended, is_late=late)
        if self._tracing is not None:
            self._tracing.ended(self._name, request, outcome, end)
        if self._stories.is_recording:
            self._stories.add(self._name, ended, took, outcome, end, end_steps())
        if self._attempts is not None:
            self._attempts.ended(attempt, ended, outcome, end, took, late)
        if isinstance(end, BaseException) and is_bug(end):
            self._on_panic(Panic(self._name, request, end))
