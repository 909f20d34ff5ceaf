# SPDX-License-Identifier: Apache-2.0
"""The part of `AsyncClient` that enters pods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from apimachinery.objects import ObjectKey
from controller_runtime.client.async_calls import AsyncCalls
from controller_runtime.client.entering import LONG
from controller_runtime.client.pods.asynchronous import AsyncLogs, AsyncPortForward, AsyncSession
from controller_runtime.client.pods.commands import MOST_BYTES, CommandResult

T = TypeVar("T")


class AsyncEnters(AsyncCalls):
    """The calls for pods, between `wait` and the others of `AsyncClient`, its only subclass."""

    async def logs(
        self,
        key: ObjectKey,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since: float | datetime | None = None,
        tail: int | None = None,
        most_bytes: int | None = None,
        timestamps: bool = False,
        within: float | None = None,
    ) -> AsyncLogs:
        """Return the lines of a container's log, for `async for`; see `Client.logs`."""
        opened = await self._entered(
            lambda: self._client.logs(
                key,
                container=container,
                follow=follow,
                previous=previous,
                since=since,
                tail=tail,
                most_bytes=most_bytes,
                timestamps=timestamps,
                within=within,
            )
        )
        return AsyncLogs(self._entered, opened)

    async def exec(
        self,
        key: ObjectKey,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bytes | str | None = None,
        within: float | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> CommandResult:
        """Carry out a command in a container; see `Client.exec`. Like a write, it is waited for if it is cancelled."""
        return await self._run(
            lambda: self._client.exec(
                key, command, container=container, stdin=stdin, within=within, most_bytes=most_bytes
            ),
            is_read=False,
        )

    async def open_exec(
        self,
        key: ObjectKey,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bool = True,
        tty: bool = False,
        within: float = LONG,
    ) -> AsyncSession:
        """Begin a command in a container, and return its streams; see `Client.open_exec`."""
        opened = await self._run(
            lambda: self._client.open_exec(key, command, container=container, stdin=stdin, tty=tty, within=within),
            is_read=False,
        )
        return AsyncSession(self._entered, opened)

    async def attach(
        self, key: ObjectKey, *, container: str = "", stdin: bool = False, tty: bool = False, within: float = LONG
    ) -> AsyncSession:
        """Attach to the process of a container; see `Client.attach`."""
        opened = await self._run(
            lambda: self._client.attach(key, container=container, stdin=stdin, tty=tty, within=within), is_read=False
        )
        return AsyncSession(self._entered, opened)

    def port_forward(self, key: ObjectKey, port: int, *, within: float = LONG) -> AsyncPortForward:
        """Return a port of a pod; see `Client.port_forward`."""
        return AsyncPortForward(self._entered, self._client.port_forward(key, port, within=within))

    def _entered(self, function: Callable[[], T]) -> Awaitable[T]:
        return self._read(function)
