# SPDX-License-Identifier: Apache-2.0
"""Worker threads for jobs that would block the event loop, with a bounded queue.

There are few threads, because Python runs one at a time: more would not do more work. Their purpose is that the
event loop's thread gets its turn meanwhile. A job that has begun cannot be cancelled. If its caller no longer
waits, its result is dropped when it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from apimachinery.host import Host, Thread

T = TypeVar("T")


class Busy(Exception):
    """A job is refused: the queue is full, or the workers have stopped."""


class _Job(Generic[T]):
    """A callable, and the future of its result."""

    def __init__(self, work: Callable[[], T], drop: Callable[[T], None], future: asyncio.Future[T]) -> None:
        self._work = work
        self._drop = drop
        self._loop = future.get_loop()
        self.future = future

    def run(self) -> None:
        """Call the work and hand its result or exception to the event loop. Threads: a worker's."""
        try:
            result = self._work()
        except Exception as error:  # noqa: BLE001  # raised again in the task that waits for the result
            with contextlib.suppress(RuntimeError):  # the loop is closed: the server stopped meanwhile
                self._loop.call_soon_threadsafe(self._fail, error)
            return
        try:
            self._loop.call_soon_threadsafe(self._finish, result)
        except RuntimeError:  # the loop is closed; the result may hold an open watch
            self._drop(result)

    def abandon(self) -> None:
        """Cancel the future, because its caller no longer waits; drop the result if there is one already.

        The caller can be cancelled after the result was set and before it resumed.
        """
        if not self.future.cancel() and not self.future.cancelled() and self.future.exception() is None:
            self._drop(self.future.result())

    def _fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def _finish(self, result: T) -> None:
        if self.future.done():  # cancelled, because the client has disconnected
            self._drop(result)
        else:
            self.future.set_result(result)


class Workers(Generic[T]):
    """Runs slow jobs on worker threads, with a limited queue.

    Args:
        host: The host that starts the threads, each when there is a job for it.
        name: A part of the threads' names.
        threads: The maximum number of threads.
        waiting: The maximum number of jobs that wait for a thread.
        drop: A function that is called with each result whose caller no longer waits, on any thread.

    Threads: only the event loop's, for every method.
    """

    def __init__(self, host: Host, name: str, threads: int, waiting: int, drop: Callable[[T], None]) -> None:
        self._host = host
        self._name = name
        self._threads = threads
        self._waiting = waiting
        self._drop = drop
        # Guards the jobs, the counts and the flag below. The threads wait for it.
        self._condition = host.condition(f"apiserver/{name}")
        self._jobs: deque[_Job[T]] = deque()
        self._running = self._started = 0
        self._stopped = False
        # Used only on the event loop's thread, and therefore not guarded.
        self._spawned: list[Thread] = []

    async def do(self, work: Callable[[], T]) -> T:
        """Call `work` on a worker thread and return its result.

        If the caller is cancelled, `work` is not called; if the call has already begun, its result goes to `drop`.

        Raises:
            Busy: The queue is full, or the workers have stopped.
        """
        job = _Job(work, self._drop, asyncio.get_running_loop().create_future())
        self._add(job)
        try:
            result: T = await job.future
        except asyncio.CancelledError:
            self._forget(job)
            raise
        return result

    def stop(self) -> None:
        """Cancel the waiting jobs, and let each thread end after its current job. Idempotent."""
        with self._condition:
            self._stopped = True
            left, self._jobs = self._jobs, deque()
            self._condition.notify_all()
        for job in left:  # outside the lock, because it calls foreign code
            job.future.cancel()

    def join(self, seconds: float) -> None:
        """Wait until the threads have ended, for at most `seconds` in total."""
        deadline = self._host.monotonic() + seconds
        for thread in self._spawned:
            thread.join_until(deadline)

    def _add(self, job: _Job[T]) -> None:
        with self._condition:
            if self._stopped or len(self._jobs) >= self._waiting:
                raise Busy
            self._jobs.append(job)
            # Another thread is needed if the running and waiting jobs are more than the threads.
            lacks_thread = self._running + len(self._jobs) > self._started and self._started < self._threads
            if lacks_thread:
                self._started += 1
            self._condition.notify()
        if lacks_thread:
            self._spawned.append(self._host.spawn(f"apiserver-{self._name}", self._run, daemon=True))

    def _forget(self, job: _Job[T]) -> None:
        with self._condition, contextlib.suppress(ValueError):  # not in the queue: the call has begun
            self._jobs.remove(job)
        job.abandon()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job.run()
            del job  # it refers to the result, which may be large, and the next job may be long in coming
            with self._condition:
                self._running -= 1

    def _next(self) -> _Job[T] | None:
        with self._condition:
            while not self._jobs and not self._stopped:
                self._condition.wait_until(None)
            if not self._jobs:
                return None
            self._running += 1
            return self._jobs.popleft()
