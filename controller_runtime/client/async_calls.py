# SPDX-License-Identifier: Apache-2.0
"""Calls of blocking functions by coroutines: each runs on a thread of a bounded pool, and is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from controller_runtime.client.request_threads import Job, RequestThreads

T = TypeVar("T")
V = TypeVar("V")


class AsyncCalls:
    """Runs blocking functions for coroutines, each on a thread of a pool.

    Args:
        threads: The pool.

    Threads: any, also from several event loops at once.
    """

    def __init__(self, threads: RequestThreads) -> None:
        self._threads = threads

    async def read(self, function: Callable[[], T]) -> T:
        """Run a function that only reads on a thread, and return its result.

        If the coroutine is cancelled, the result is ignored.
        """
        return await self.run(function, is_read=True)

    async def run(self, function: Callable[[], T], *, is_read: bool) -> T:
        """Run a function on a thread, and return its result.

        Args:
            function: Sends a request.
            is_read: True if the answer may be ignored when the coroutine is cancelled; if False, a cancelled coroutine
                waits for it first.
        """
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def on_end() -> None:
            try:
                loop.call_soon_threadsafe(ended.set)
            except RuntimeError:  # the answer of a read comes after its coroutine and its loop have ended
                if not loop.is_closed():
                    raise

        job = Job(function, on_end)
        self._threads.submit(job)
        try:
            await ended.wait()
        except asyncio.CancelledError:
            if not self._threads.withdraw(job) and not is_read:
                await _wait_through(ended)
            raise
        return job.result()


async def _wait_through(ended: asyncio.Event) -> None:
    """Wait for an event in spite of further cancellations; the caller raises the first one when this returns."""
    while not ended.is_set():
        try:
            await ended.wait()
        except asyncio.CancelledError:
            continue


def given(view: type[V] | None) -> tuple[()] | tuple[type[V]]:
    """Return `(view,)`, or `()` if `view` is None, so that the default class of the resource is used."""
    return () if view is None else (view,)
