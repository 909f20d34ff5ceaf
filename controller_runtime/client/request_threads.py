# SPDX-License-Identifier: Apache-2.0
"""A bounded number of threads that send the requests of coroutines, because transports wait on the calling thread."""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from apimachinery.host import Host, Thread

T = TypeVar("T")


class Job(Generic[T]):
    """A call of a function on another thread, in a copy of the context variables of the thread that makes the job.

    Args:
        function: The function.
        on_end: Called on the other thread after the function has returned or raised.

    Threads: one for `run`; `result` from any once `on_end` has been called.
    """

    def __init__(self, function: Callable[[], T], on_end: Callable[[], None]) -> None:
        self._context = contextvars.copy_context()
        self._function = function
        self._on_end = on_end
        self._results: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        """Call the function, and keep its result or error for `result`."""
        try:
            self._results.append(self._context.run(self._function))
        # Without SystemExit, `sys.exit` would end the thread unnoticed, and the coroutine would wait forever.
        except (Exception, SystemExit) as error:  # noqa: BLE001  a job ends here: `result` raises it again
            self._error = error
        self._on_end()

    def result(self) -> T:
        """Return the function's result, or raise its error."""
        if self._error is not None:
            raise self._error
        return self._results[0]


LINGER = 0.1
"""Seconds for which a thread waits for its next job before it ends: starting one costs as much as a quick request.

It is short, because a program does not end before its threads have.
"""


class RequestThreads:
    """A pool of threads for jobs: threads are started when there is work, and end when there is none.

    The pool need not be shut down: a thread that has had no job for `LINGER` seconds ends.

    Args:
        host: The source of time and threads.
        limit: The most threads; further jobs wait, first come, first served.

    Raises:
        ValueError: `limit` is below one.

    Threads: any, for every method.
    """

    def __init__(self, host: Host, limit: int = 16) -> None:
        if limit < 1:
            raise ValueError(f"threads ({limit}) must be at least 1")
        self._host = host
        self._limit = limit
        # Guards the fields below; idle threads wait on it.
        self._condition = host.condition("request threads")
        self._waiting: deque[Job[Any]] = deque()
        self._running = 0  # threads that take jobs, among them those that are about to be started
        self._idle = 0  # those of them that wait for a job, or have been woken for one
        self._begun = 0  # numbers the threads' names
        self._is_joined = False
        # Those that may not have ended. They stay until `_forget_ended`: a thread that removed itself would still run.
        self._threads: list[Thread] = []

    def submit(self, job: Job[T]) -> None:
        """Run `job` as soon as a thread is free.

        Raises:
            RuntimeError: The operating system cannot start a thread, and none is running that could do the job.
        """
        with self._condition:
            self._waiting.append(job)
            if len(self._waiting) <= self._idle:
                self._condition.notify()
                return
            if self._running >= self._limit:
                return
            self._running += 1
            self._begun += 1
            name = f"requests-{self._begun}"
        try:
            thread = self._host.spawn(name, self._work)
        except RuntimeError:
            with self._condition:
                self._running -= 1
                is_left = self._running == 0 and job in self._waiting
                if is_left:
                    self._waiting.remove(job)
            if is_left:
                raise
            return
        with self._condition:
            self._threads.append(thread)
            is_time = len(self._threads) > 2 * self._limit
        if is_time:
            self._forget_ended()

    def withdraw(self, job: Job[T]) -> bool:
        """Remove a job that no thread has taken yet; return True if it was removed."""
        with self._condition:
            if job not in self._waiting:
                return False
            self._waiting.remove(job)
            return True

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the threads to end, and return those that have not by `deadline` (absolute monotonic seconds).

        From this call on, threads end as soon as there is no job; jobs can still be submitted.
        """
        with self._condition:
            self._is_joined = True
            self._condition.notify_all()
            threads = [*self._threads]
        return [thread for thread in threads if not thread.join_until(deadline)]

    def _forget_ended(self) -> None:
        with self._condition:
            threads = [*self._threads]
        ended = {id(thread) for thread in threads if thread.join_until(0.0)}
        with self._condition:
            self._threads = [thread for thread in self._threads if id(thread) not in ended]

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job.run()

    def _next(self) -> Job[Any] | None:
        deadline = self._host.monotonic() + LINGER
        with self._condition:
            while not self._waiting:
                if self._is_joined or self._host.monotonic() >= deadline:
                    self._running -= 1
                    return None
                self._idle += 1
                self._condition.wait_until(deadline)
                self._idle -= 1
            return self._waiting.popleft()
