# SPDX-License-Identifier: Apache-2.0
"""Logs, sessions and ports for coroutines: each call is that of the plain class, on a thread of the client's pool.

A call that waits occupies a thread. If its coroutine is cancelled, the connection is closed, since what comes would be
lost otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from controller_runtime.client.pods.logs import Logs
from controller_runtime.client.pods.ports import PortConnection, PortForward
from controller_runtime.client.pods.session import Output, Session

T = TypeVar("T")


class Closable(Protocol):
    """A connection that any thread may close."""

    def close(self) -> None:
        """Close the connection without waiting. Idempotent."""


C = TypeVar("C", bound=Closable)


class RunOnThread(Protocol):
    """A function that calls another function on a thread of the pool, and awaits its result."""

    def __call__(self, function: Callable[[], T]) -> Awaitable[T]:
        """Await the result of a function."""


class AsyncConnection(Generic[C]):
    """A connection for coroutines; an asynchronous context manager that closes it.

    Args:
        run: Calls a function on a thread, and awaits its result.
        inner: The connection.

    Threads: those of the event loop.
    """

    def __init__(self, run: RunOnThread, inner: C) -> None:
        self._run, self._inner = run, inner

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._inner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _call(self, function: Callable[[], T]) -> T:
        try:
            return await self._run(function)
        except asyncio.CancelledError:
            self.close()
            raise


class AsyncLogs(AsyncConnection[Logs]):
    """The lines of a container's log, for `async for`; see `Logs`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._call(lambda: next(self._inner, None))
        if line is None:
            raise StopAsyncIteration
        return line


class AsyncSession(AsyncConnection[Session]):
    """The streams of a command; `async for` iterates over its output. See `Session`."""

    @property
    def exit_code(self) -> int | None:
        """The exit status of the command; None until the server has reported it."""
        return self._inner.exit_code

    async def read(self, within: float | None = None) -> Output | None:
        """Return the next piece of output; see `Session.read`."""
        return await self._call(lambda: self._inner.read(within))

    async def write(self, data: bytes | str) -> None:
        """Write to the standard input of the command; see `Session.write`."""
        await self._call(lambda: self._inner.write(data))

    async def close_stdin(self) -> None:
        """Close the standard input of the command; see `Session.close_stdin`."""
        await self._call(self._inner.close_stdin)

    async def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal, in characters."""
        await self._call(lambda: self._inner.resize(columns, rows))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Output:
        output = await self.read()
        if output is None:
            raise StopAsyncIteration
        return output


class AsyncPortConnection(AsyncConnection[PortConnection]):
    """One connection to a port of a pod; see `PortConnection`."""

    async def sendall(self, data: bytes) -> None:
        """Send all of `data`; see `PortConnection.sendall`."""
        await self._call(lambda: self._inner.sendall(data))

    async def recv(self, size: int) -> bytes:
        """Wait for data, and return at most `size` bytes; see `PortConnection.recv`."""
        return await self._call(lambda: self._inner.recv(size))


class AsyncPortForward:
    """A forwarded port of a pod for coroutines; see `PortForward`.

    Args:
        run: Calls a function on a thread, and awaits its result.
        inner: The forwarded port, for threads.

    Attributes:
        listen: The method `PortForward.listen`, which does not block, so coroutines can call it.
    """

    def __init__(self, run: RunOnThread, inner: PortForward) -> None:
        self._run, self._inner = run, inner
        self.listen = inner.listen

    async def connect(self) -> AsyncPortConnection:
        """Open a connection to the port; see `PortForward.connect`."""
        return AsyncPortConnection(self._run, await self._run(self._inner.connect))
