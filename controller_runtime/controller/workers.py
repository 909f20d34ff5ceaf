# SPDX-License-Identifier: Apache-2.0
"""The workers of a controller: threads that take requests from its queue and reconcile them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from apimachinery.errors import ShutDown
from apimachinery.host import Host, Thread
from apimachinery.stop import Stop, spawn
from controller_runtime.controller.counters import Ended, Outcome, ReconcileCounters
from controller_runtime.controller.kept_state import state_of
from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request, Result
from controller_runtime.controller.settlement import Settlement
from controller_runtime.core.deadline import deadline_scope
from controller_runtime.queue.workqueue import WorkQueue

if TYPE_CHECKING:  # a program without coroutines should not pay for asyncio
    from controller_runtime.controller.async_workers import AsyncWorkers

AnyWorkers: TypeAlias = "Workers | AsyncWorkers"


class Workers:
    """The workers of a `Reconciler`: threads named `<name>/worker-<i>` that share one queue.

    Once `stop` is set, no further reconcile begins, but running ones finish. The threads end when `stop` is set and the
    queue is shut down.

    Args:
        host: The source of time, threads and randomness.
        name: The controller's name.
        reconciler: Does the work.
        queue: The queue of requests.
        stop: Ends the workers; it is failed if one of the threads fails.
        settlement: Counts each reconcile, and retries or forgets its request at the end; None for a new one without
            timeout and observers.

    Threads: `counters` and `last` from any; the rest from one.
    """

    def __init__(
        self,
        host: Host,
        name: str,
        reconciler: Reconciler,
        queue: WorkQueue[Request],
        stop: Stop,
        settlement: Settlement | None = None,
    ) -> None:
        settlement = settlement or Settlement(host, name, queue)
        self._host = host
        self._name = name
        self._reconciler = reconciler
        self._queue = queue
        self._stop = stop
        self._settlement = settlement
        self._timeout = settlement.timeout
        self._pass_state = state_of(reconciler)
        self._tally = settlement.tally
        self._threads: list[Thread] = []

    def start(self, count: int) -> None:
        """Start `count` threads."""
        for number in range(count):
            self._threads.append(spawn(self._host, self._stop, f"{self._name}/worker-{number}", self._work))

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the threads, and return those that have not ended by `deadline` (absolute monotonic seconds)."""
        self._threads = [thread for thread in self._threads if not thread.join_until(deadline)]
        return self._threads

    def counters(self) -> ReconcileCounters:
        """Return the current metrics."""
        return self._tally.snapshot()

    def last(self) -> list[tuple[Ended, Outcome, float]]:
        """Return the last reconciles, the oldest first, each with its outcome and its duration in seconds."""
        return self._tally.last()

    def _work(self) -> None:
        try:
            request = self._queue.get()
            while not self._stop.is_set():  # else the request stays undone: nothing is handed out any more
                self._work_on(request)
                request = self._queue.done_and_get(request)
        except ShutDown:
            return

    def _work_on(self, request: Request) -> None:
        is_settled = False
        try:
            with self._settlement.begin(request):
                self._reconcile(request)
            is_settled = True
        finally:
            if not is_settled:  # else a request whose worker failed would count as being processed forever
                self._queue.done(request)

    def _reconcile(self, request: Request) -> None:
        started = self._host.monotonic()
        try:
            result: object = self._call(request, started)
            if not isinstance(result, Result):
                raise TypeError(f"reconcile returned {result!r}, not a Result")
        except (Exception, SystemExit) as error:  # noqa: BLE001  a reconcile ends here, its worker does not
            self._settle(request, error, started)
        else:
            self._settle(request, result, started)

    def _call(self, request: Request, started: float) -> object:
        if self._pass_state is not None:
            self._pass_state(request)
        if self._timeout is None:
            return self._reconciler.reconcile(request)
        with deadline_scope(started + self._timeout):
            return self._reconciler.reconcile(request)

    def _settle(self, request: Request, end: Result | BaseException, started: float) -> None:
        self._settlement.settle(request, end, self._host.monotonic() - started)


def make_workers(
    host: Host,
    name: str,
    reconciler: Reconciler | AsyncReconciler,
    queue: WorkQueue[Request],
    stop: Stop,
    settlement: Settlement,
) -> AnyWorkers:
    """Return the workers for a reconciler: threads, or coroutines for an `AsyncReconciler`.

    The arguments are those of `Workers`.
    """
    if not isinstance(reconciler, AsyncReconciler):
        return Workers(host, name, reconciler, queue, stop, settlement)
    from controller_runtime.controller.async_workers import AsyncWorkers

    return AsyncWorkers(host, name, reconciler, queue, stop, settlement)
