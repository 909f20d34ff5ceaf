# SPDX-License-Identifier: Apache-2.0
"""Threads for what would hold up the event loop: a few, with a bounded queue before them.

Python runs one thread at a time, so more of them would do no more work; they let the loop's
thread have its turn. Work that has begun cannot be ended from outside: its result is dropped
if nobody waits for it any more, and its thread is free when it is done.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from controller_runtime.core.host import Host, Thread

T = TypeVar("T")


class Busy(Exception):
    """So much waits already that no more is taken."""


class _Job(Generic[T]):
    """Something to do, and the future of its result."""

    def __init__(self, work: Callable[[], T], drop: Callable[[T], None], future: asyncio.Future[T]) -> None:
        self._work = work
        self._drop = drop
        self._loop = future.get_loop()
        self.future = future

    def run(self) -> None:
        """Do it; on a worker's thread."""
        try:
            result = self._work()
        except Exception as error:  # noqa: BLE001  # it is raised where the result is waited for
            with contextlib.suppress(RuntimeError):  # the loop is closed: the server has stopped meanwhile
                self._loop.call_soon_threadsafe(self._fail, error)
            return
        try:
            self._loop.call_soon_threadsafe(self._finish, result)
        except RuntimeError:
            self._drop(result)

    def abandon(self) -> None:
        """Note that nobody waits for the result any more, not even if it is there."""
        if not self.future.cancel() and not self.future.cancelled() and self.future.exception() is None:
            self._drop(self.future.result())

    def _fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def _finish(self, result: T) -> None:
        if self.future.done():  # cancelled: the client has gone
            self._drop(result)
        else:
            self.future.set_result(result)


class Workers(Generic[T]):
    """Does what takes long on threads of its own.

    Args:
        host: Makes the threads, each when there is work for it.
        name: Of the threads.
        threads: How many at most.
        waiting: Jobs that may wait for a thread.
        drop: Told of results for which nobody waits; called on any thread.

    Threads: the event loop's, for every method.
    """

    def __init__(self, host: Host, name: str, threads: int, waiting: int, drop: Callable[[T], None]) -> None:
        self._host = host
        self._name = name
        self._threads = threads
        self._waiting = waiting
        self._drop = drop
        # Guards all below.
        self._condition = host.condition(f"apiserver/{name}")
        self._jobs: deque[_Job[T]] = deque()
        self._running = self._started = 0
        self._stopped = False
        # The loop's.
        self._spawned: list[Thread] = []

    async def do(self, work: Callable[[], T]) -> T:
        """Return the result of `work`. If cancelled, work that waits is not begun; the result of other work is dropped.

        Raises:
            Busy: Too many wait, or the workers have stopped.
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
        """Begin nothing more, and let the threads end when they are done. Idempotent."""
        with self._condition:
            self._stopped = True
            left, self._jobs = self._jobs, deque()
            self._condition.notify_all()
        for job in left:
            job.future.cancel()

    def join(self, seconds: float) -> None:
        """Wait for the threads that are done, and no longer than `seconds` for those that are not."""
        deadline = self._host.monotonic() + seconds
        for thread in self._spawned:
            thread.join_until(deadline)

    def _add(self, job: _Job[T]) -> None:
        with self._condition:
            if self._stopped or len(self._jobs) >= self._waiting:
                raise Busy
            self._jobs.append(job)
            lacks_thread = self._running + len(self._jobs) > self._started and self._started < self._threads
            if lacks_thread:
                self._started += 1
            self._condition.notify()
        if lacks_thread:
            self._spawned.append(self._host.spawn(f"apiserver-{self._name}", self._run, daemon=True))

    def _forget(self, job: _Job[T]) -> None:
        with self._condition, contextlib.suppress(ValueError):  # it has begun
            self._jobs.remove(job)
        job.abandon()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job.run()
            del job  # or its result would stay until the next
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
