# SPDX-License-Identifier: Apache-2.0
"""The workers of a controller whose reconciler is a coroutine: one event loop, and one thread that feeds it.

The queue, the outcomes and the counters are those of `workers.Workers`. There is no thread for each worker: a thread
that waits for a coroutine would cost two switches of threads for each reconcile, and hundreds of workers, which are
what coroutines are for, would be hundreds of threads. So the end of a coroutine reaches `outcome.settle` and
`WorkQueue.done` on the loop's own thread; neither waits.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from functools import partial

import attrs

from apimachinery.errors import Cancelled, ReconcileTimeout, ShutDown
from apimachinery.host import Host, Thread
from apimachinery.log import get_logger
from apimachinery.stop import Stage, Stop, spawn
from controller_runtime.controller.active_reconciles import ActiveReconciles
from controller_runtime.controller.coroutine_stacks import stack_of, stacks_of
from controller_runtime.controller.counters import Ended, Outcome, ReconcileCounters
from controller_runtime.controller.kept_state import state_of
from controller_runtime.controller.loop_watchdog import LoopWatchdog
from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result
from controller_runtime.controller.settlement import Settlement
from controller_runtime.core.deadline import deadline_scope
from controller_runtime.queue.workqueue import WorkQueue

log = get_logger(__name__)

CANCELLATION_IGNORED_AFTER = 2.0
"""Seconds after which a coroutine that continues although it was cancelled is counted, and logged with its stack."""


@attrs.define(eq=False)
class _Reconcile:
    """A coroutine that reconciles.

    Attributes:
        request: The key.
        task: The task in which it runs.
        context: The task's context variables, for what is logged about it elsewhere.
        started: Monotonic seconds.
        cancelled: The error that its end counts as, once it has been cancelled; None before.
        timers: Those that are cancelled when it ends.
    """

    request: Request
    task: asyncio.Task[None]
    context: contextvars.Context
    started: float
    cancelled: ReconcileTimeout | Cancelled | None = None
    timers: list[asyncio.TimerHandle] = attrs.field(factory=list)


class _LoopThread:
    """The thread of an event loop, whose stack includes those of the loop's coroutines."""

    def __init__(self, thread: Thread, loop: asyncio.AbstractEventLoop) -> None:
        self.name = thread.name
        self.join_until = thread.join_until
        self._thread = thread
        self._loop = loop

    def stack(self) -> str:
        own = self._thread.stack()
        return f"{own}\n{stacks_of(self._loop)}" if own else ""


class AsyncWorkers:
    """The workers of an `AsyncReconciler`: coroutines on one event loop, on a thread named `<name>/loop`.

    Once `stop` is set, no further reconcile begins, but running ones finish. When `stop` is cancelled, the coroutines
    are cancelled. A coroutine that ignores its cancellation keeps its key and counts as a running worker, so that its
    object is not reconciled twice at a time.

    Args:
        host: The source of time, threads, randomness and event loops.
        name: The controller's name.
        reconciler: Does the work.
        queue: The queue of requests.
        stop: Ends the workers; it is failed if one of the threads fails.
        settlement: Counts each reconcile, and retries or forgets its request at the end. It has the timeout, at which a
            reconcile is cancelled.

    Threads: `counters` and `last` from any; the rest from one.
    """

    def __init__(
        self,
        host: Host,
        name: str,
        reconciler: AsyncReconciler,
        queue: WorkQueue[Request],
        stop: Stop,
        settlement: Settlement,
    ) -> None:
        self._host = host
        self._name = name
        self._reconciler = reconciler
        self._queue = queue
        self._stop = stop
        self._settlement = settlement
        self._timeout = settlement.timeout
        self._pass_state = state_of(reconciler)
        self._tally = settlement.tally
        # The loop's thread, and the two that end with it.
        self._loop_threads: list[Thread] = []
        self._helpers: list[Thread] = []
        # The loop's thread alone uses these three.
        self._running: dict[asyncio.Task[None], _Reconcile] = {}
        self._has_all_requests = False
        self._over = asyncio.Event()

    def start(self, count: int) -> None:
        """Start the event loop, which runs up to `count` reconciles at a time."""
        self._loop = self._host.new_event_loop()
        self._active = ActiveReconciles(self._host, count)
        self._watchdog = LoopWatchdog(self._host, self._name, self._loop, self._active, self._post)
        thread = _LoopThread(self._spawn("loop", self._run_loop), self._loop)
        self._loop_threads = [thread]
        self._helpers = [
            self._spawn("dispatch", self._dispatch),
            self._spawn("watchdog", lambda: self._watchdog.run(thread)),
        ]

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the threads, and return those that have not ended by `deadline` (absolute monotonic seconds)."""
        late = [thread for thread in self._loop_threads if not thread.join_until(deadline)]
        return late or [thread for thread in self._helpers if not thread.join_until(deadline)]

    def counters(self) -> ReconcileCounters:
        """Return the current metrics."""
        return self._tally.snapshot()

    def last(self) -> list[tuple[Ended, Outcome, float]]:
        """Return the last reconciles, the oldest first, each with its outcome and its duration in seconds."""
        return self._tally.last()

    def _spawn(self, name: str, target: Callable[[], None]) -> Thread:
        return spawn(self._host, self._stop, f"{self._name}/{name}", target)

    # The thread that takes requests from the queue.

    def _dispatch(self) -> None:
        try:
            while self._active.wait_for_room(self._stop):
                try:
                    request = self._queue.get()
                except ShutDown:
                    return
                if self._stop.is_set():  # the request stays undone: nothing is handed out any more
                    return
                self._active.add()
                self._post(partial(self._begin, request))
        finally:
            self._post(self._end_of_requests)

    def _post(self, callback: Callable[[], None]) -> None:
        """Call a function on the loop's thread; do nothing if the loop has ended. Threads: any."""
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            if not self._loop.is_closed():
                raise

    # The loop's thread.

    def _run_loop(self) -> None:
        forget = self._stop.on_set(lambda: self._post(self._cancel_all), Stage.CANCELLED)
        try:
            # It also cancels and awaits the tasks that reconciles have left behind.
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        finally:
            forget()
            self._active.close()
            self._watchdog.close()

    async def _serve(self) -> None:
        await self._over.wait()
        await self._reconciler.close()

    def _end_of_requests(self) -> None:
        self._has_all_requests = True
        self._check_over()

    def _check_over(self) -> None:
        if self._has_all_requests and not self._running:
            self._over.set()

    def _begin(self, request: Request) -> None:
        if not self._stop.is_set():  # else the request stays undone, as in `_dispatch`
            task = self._loop.create_task(self._work(request), name=f"{self._name}/{request}")
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Stop the manager if a reconcile could not be settled, as a worker's thread does that fails."""
        try:
            task.result()
        except (Exception, SystemExit) as error:
            log.exception("reconcile could not be settled, stopping", controller=self._name)
            self._stop.fail(error)
        except asyncio.CancelledError:  # before its first step, because the loop ends after a failure
            pass
        self._check_over()

    async def _work(self, request: Request) -> None:
        task: asyncio.Task[None] | None = asyncio.current_task()
        assert task is not None, "coroutines run in tasks"
        try:
            with self._settlement.begin(request):
                running = _Reconcile(request, task, contextvars.copy_context(), self._host.monotonic())
                self._running[task] = running
                await self._reconcile(running)
        finally:  # else a request that could not be settled would count as being processed forever
            self._running.pop(task, None)
            self._queue.done(request)
            self._active.remove()

    async def _reconcile(self, running: _Reconcile) -> None:
        if self._stop.is_cancelled():  # `_cancel_all` may have been called before this task was known
            self._cancel_for_stop(running)
        if self._timeout is not None:
            late = partial(self._cancel_for_timeout, running, self._timeout)
            running.timers.append(self._loop.call_later(self._timeout, late))
        try:
            result: object = await self._call(running)
            if not isinstance(result, Result):
                raise TypeError(f"reconcile returned {result!r}, not a Result")
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001  a reconcile ends here
            is_cancelled = isinstance(error, asyncio.CancelledError)
            self._settle(running, (running.cancelled if is_cancelled else None) or error)
        else:
            self._settle(running, result)
        finally:
            for timer in running.timers:
                timer.cancel()

    async def _call(self, running: _Reconcile) -> object:
        if self._pass_state is not None:
            self._pass_state(running.request)
        if self._timeout is None:
            return await self._reconciler.reconcile(running.request)
        with deadline_scope(running.started + self._timeout):
            return await self._reconciler.reconcile(running.request)

    def _settle(self, running: _Reconcile, end: Result | BaseException) -> None:
        took = self._host.monotonic() - running.started
        if isinstance(running.cancelled, ReconcileTimeout) and self._timeout is not None:
            took = max(took, self._timeout)  # a timer may be early by the resolution of the clock
        self._settlement.settle(running.request, end, took)

    # Cancellation, on the loop's thread.

    def _cancel_all(self) -> None:
        for running in [*self._running.values()]:
            self._cancel_for_stop(running)

    def _cancel_for_stop(self, running: _Reconcile) -> None:
        self._cancel(running, Cancelled("the process stops and its grace has run out"))

    def _cancel_for_timeout(self, running: _Reconcile, timeout: float) -> None:
        self._cancel(running, ReconcileTimeout(f"the reconcile was cancelled after {timeout:g} s, its timeout"))

    def _cancel(self, running: _Reconcile, why: ReconcileTimeout | Cancelled) -> None:
        running.task.cancel()
        if running.cancelled is None:
            running.cancelled = why
            goes_on = partial(self._goes_on, running)
            timer = self._loop.call_later(CANCELLATION_IGNORED_AFTER, goes_on, context=running.context)
            running.timers.append(timer)

    def _goes_on(self, running: _Reconcile) -> None:
        """Report a coroutine that goes on though it was cancelled. Its key stays held until it ends."""
        self._tally.ignore_cancellation()
        log.warning(
            "reconcile goes on though it was cancelled: it must not catch `asyncio.CancelledError` without raising it",
            cause=running.cancelled,
            stack=stack_of(running.task),
        )
