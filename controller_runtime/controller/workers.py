# SPDX-License-Identifier: Apache-2.0
"""The hands of a controller: threads that take requests from its queue and reconcile them."""

from __future__ import annotations

from controller_runtime.controller.counters import ReconcileCounters, Tally
from controller_runtime.controller.outcome import settle
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.deadline import until
from controller_runtime.core.errors import ReconcileTimeout, ShutDown
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.log import bound
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.queue.workqueue import WorkQueue


class Workers:
    """A number of threads, `<name>/worker-<i>`, on one queue.

    They begin nothing once `stop` is set; what is in hand then is finished. They end
    when `stop` is set and the queue is shut down.

    Args:
        host: What they run on.
        name: Of the controller.
        reconciler: Does the work.
        queue: Where the requests come from.
        stop: Ends them, and is told when one fails.
        timeout: Seconds that one reconcile may take; one that takes longer has failed.

    Threads: `counters` from any; the rest from one.
    """

    def __init__(
        self,
        host: Host,
        name: str,
        reconciler: Reconciler,
        queue: WorkQueue[Request],
        stop: Stop,
        *,
        timeout: float | None = None,
    ) -> None:
        self._host = host
        self._name = name
        self._reconciler = reconciler
        self._queue = queue
        self._stop = stop
        self._timeout = timeout
        self._tally = Tally(host, name)
        self._threads: list[Thread] = []

    def start(self, count: int) -> None:
        """Start `count` threads."""
        for number in range(count):
            self._threads.append(spawn(self._host, self._stop, f"{self._name}/worker-{number}", self._work))

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the threads to end; those that have not by `deadline` (absolute monotonic seconds)."""
        self._threads = [thread for thread in self._threads if not thread.join_until(deadline)]
        return self._threads

    def counters(self) -> ReconcileCounters:
        """What has been counted so far."""
        return self._tally.snapshot()

    def _work(self) -> None:
        while True:
            try:
                request = self._queue.get()
            except ShutDown:
                return
            if self._stop.is_set():  # queued, but not begun
                return
            with bound(controller=self._name, request=request, reconcile=self._tally.begin()):
                self._reconcile(request)
            self._queue.done(request)

    def _reconcile(self, request: Request) -> None:
        started = self._host.monotonic()
        try:
            result: object = self._ask(request, started)
            if not isinstance(result, Result):
                raise TypeError(f"reconcile returned {result!r}, not a Result")
        except (Exception, SystemExit) as error:  # noqa: BLE001  a reconcile ends here, and not its worker with it
            self._settle(request, error, started)
        else:
            self._settle(request, result, started)

    def _ask(self, request: Request, started: float) -> object:
        if self._timeout is None:
            return self._reconciler.reconcile(request)
        with until(started + self._timeout):
            return self._reconciler.reconcile(request)

    def _settle(self, request: Request, end: Result | BaseException, started: float) -> None:
        took = self._host.monotonic() - started
        is_late = took >= self._timeout if self._timeout is not None else False
        if is_late and isinstance(end, Result):  # one that raised has failed anyway
            end = ReconcileTimeout(f"the reconcile took {took:.3g} s and may take {self._timeout:g} s")
        self._tally.end(settle(self._queue, request, end, took, self._host.random), took, is_late=is_late)
