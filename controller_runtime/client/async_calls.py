# SPDX-License-Identifier: Apache-2.0
"""Calls of blocking functions by coroutines: each runs on a thread of a bounded pool, and is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar, overload

from apimachinery.objects import ObjectKey
from controller_runtime.api.conditions import ObjectCondition
from controller_runtime.api.readiness import Readiness
from controller_runtime.api.resources import Kind
from controller_runtime.client.client import Client
from controller_runtime.client.request_threads import Job, RequestThreads

T = TypeVar("T")
V = TypeVar("V")


class AsyncCalls:
    """The base of an asynchronous client: its threads, and `wait`.

    Args:
        client: Sends the requests.
        threads: The threads to send them on; None: 16 of its own.

    Threads: any, also from several event loops at once.
    """

    def __init__(self, client: Client, threads: RequestThreads | None = None) -> None:
        self._client = client
        self._threads = threads or RequestThreads(client.host)

    @overload
    async def wait(
        self, resource: Kind[T], key: ObjectKey, *, until: ObjectCondition | Readiness, within: float = ...
    ) -> T: ...

    @overload
    async def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[V],
        *,
        until: ObjectCondition | Readiness,
        within: float = ...,
    ) -> V: ...

    @overload
    async def wait(
        self, resource: Kind[T], key: ObjectKey, *, until: Callable[[T | None], bool], within: float = ...
    ) -> T | None: ...

    @overload
    async def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[V],
        *,
        until: Callable[[V | None], bool],
        within: float = ...,
    ) -> V | None: ...

    async def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[Any] | None = None,
        *,
        until: Callable[[Any], bool],
        within: float = 30.0,
    ) -> Any:
        """Wait until an object is as wanted; see `Client.wait`.

        It occupies a thread for all that time, on which `until` is called too. A wait whose coroutine is cancelled goes
        on there, at most for as long as it was to last, and its result is ignored.
        """
        return await self._read(lambda: self._client.wait(resource, key, *given(view), until=until, within=within))

    async def _read(self, function: Callable[[], T]) -> T:
        return await self._run(function, is_read=True)

    async def _run(self, function: Callable[[], T], *, is_read: bool) -> T:
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
    """Return the arguments that pass a view on only if there is one: without one, the model of the resource decides."""
    return () if view is None else (view,)
