# SPDX-License-Identifier: Apache-2.0
"""Watches on their way to their readers.

A watch costs one suspended task and no switch to it: its lines go from the core
straight to the connection, all watches that an event concerns in one pass of the loop
unless it is large.
A reader that lags is left behind, not buffered for.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Protocol

from aiohttp import web
from aiohttp.http import HttpVersion11

from controller_runtime.api.http import Watch
from controller_runtime.apiserver.shell.sending import PART, give_up, progress
from controller_runtime.core.host import Host

# Lines of one take at most, and takes in one pass of the loop: a watch with much to say leaves time for others.
_LINES = 64
_TAKES = 2
# Bytes that all watches together write in one pass.
_PASS = 4 * 1024 * 1024


class Watches:
    """The watches being served, and those of them with something to take. Threads: the loop's, but for `wake`."""

    def __init__(self, host: Host, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.thread = threading.get_ident()
        self._open: dict[Watcher, None] = {}
        self._due: dict[Watcher, None] = {}
        # Guards those that other threads have told of.
        self._lock = host.lock("apiserver/watches")
        self._told: list[Watcher] = []
        # The line that was written last, and its chunk: one event's is the same for all whom it concerns.
        self._line = self._chunk = b""

    def add(self, watcher: Watcher) -> None:
        """Serve it from now on."""
        self._open[watcher] = None

    def remove(self, watcher: Watcher) -> None:
        """Serve it no more. Idempotent."""
        self._open.pop(watcher, None)
        self._due.pop(watcher, None)

    def wake(self, watcher: Watcher) -> None:
        """Note that a watcher has something to take. Threads: any."""
        if threading.get_ident() == self.thread:
            self.mark_due(watcher)
            return
        with self._lock:
            self._told.append(watcher)
            is_first = len(self._told) == 1
        if is_first:  # one call for all whom an event concerns: each would be a write to the loop's pipe
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the watches with it
                self.loop.call_soon_threadsafe(self._take_told)

    def mark_due(self, watcher: Watcher) -> None:
        """Let a watcher take in the next pass of the loop."""
        if not self._due:
            self.loop.call_soon(self._pump)
        self._due[watcher] = None

    def chunk(self, lines: list[bytes]) -> bytes:
        """The lines as a chunk of an answer."""
        if len(lines) > 1:
            return _chunk(b"".join(lines))
        if lines[0] is not self._line:
            self._line, self._chunk = lines[0], _chunk(lines[0])
        return self._chunk

    def finish(self) -> None:
        """End all watches as if their time were up."""
        for watcher in tuple(self._open):
            watcher.finish()

    def _take_told(self) -> None:
        with self._lock:
            told, self._told = self._told, []
        for watcher in told:
            self.mark_due(watcher)

    def _pump(self) -> None:
        due, self._due = list(self._due), {}
        written = 0
        for place, watcher in enumerate(due, 1):
            written += watcher.pump()
            if written > _PASS and place < len(due):
                self._postpone(due[place:])
                return

    def _postpone(self, due: list[Watcher]) -> None:
        """Let these go on first in the next pass."""
        if not self._due:
            self.loop.call_soon(self._pump)
        self._due = dict.fromkeys(due) | self._due


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class _Connection(Protocol):
    """What a watch writes to: the part of `asyncio.Transport` that it uses."""

    def write(self, data: bytes) -> None: ...

    def get_write_buffer_size(self) -> int: ...

    def is_closing(self) -> bool: ...

    def abort(self) -> None: ...


class Watcher:
    """One watch on its way to one reader. Threads: the loop's, but for `on_ready`."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self._watch: Watch | None = None  # until there is one, and once it is over, there is nothing to pump
        self._connection: _Connection | None = None
        self._chunked = True
        self._limit = 1
        self._timer: asyncio.TimerHandle | None = None
        # Resolved to True at the end of the watch, to False when the reader lags; the task waits for it.
        self._turn: asyncio.Future[bool]

    def on_ready(self) -> None:
        """There may be something to take. Threads: any."""
        self._watches.wake(self)

    async def serve(self, request: web.BaseRequest, watch: Watch) -> web.StreamResponse:
        """Answer with a watch, until its end or its reader's."""
        response = web.StreamResponse(headers=watch.headers)
        try:
            writer = await response.prepare(request)
            connection = request.transport
            if writer is None or connection is None:
                return response
            connection.set_write_buffer_limits(PART)
            self._watch, self._connection = watch, connection
            self._chunked = request.version >= HttpVersion11
            self._watches.add(self)
            while not await self._run():
                try:
                    async with progress():
                        await writer.drain()
                except TimeoutError:
                    give_up(request, connection)
                    return response
            if not connection.is_closing():
                await response.write_eof()
        finally:
            self._watch = None
            self._watches.remove(self)
            self._cancel_timer()
            watch.close()
        return response

    async def _run(self) -> bool:
        """Serve until the end of the watch (True), or until the reader lags."""
        self._turn = asyncio.get_running_loop().create_future()
        self.pump()
        return await self._turn

    def finish(self) -> None:
        """End it as if its time were up."""
        self._end_turn(True)

    def pump(self) -> int:
        """Hand over what the core has, as far as the reader takes it; the bytes."""
        written = 0
        if self._watch is None or self._connection is None or self._turn.done():
            return written
        for _ in range(_TAKES):
            if self._connection.is_closing():  # the reader is gone, and what is written to it too
                self._end_turn(True)
                return written
            if self._connection.get_write_buffer_size() > PART:
                self._end_turn(False)
                return written
            limit = self._limit
            lines, over = self._watch.take(limit)
            size = self._write(self._connection, lines) if lines else 0
            written += size
            # Lines can be long: a take is at most twice as long as the last one was, and one line after a long one.
            self._limit = 1 if size > PART else min(_LINES, max(2, 2 * len(lines)))
            if over:
                self._end_turn(True)
                return written
            if len(lines) < limit:
                if self._timer is None:  # one that fires early finds nothing and sets the next: cheaper than moving it
                    self._set_timer(self._watch.next_wake())
                return written
        self._watches.mark_due(self)
        return written

    def _write(self, connection: _Connection, lines: list[bytes]) -> int:
        chunk = self._watches.chunk(lines) if self._chunked else b"".join(lines)
        connection.write(chunk)
        return len(chunk)

    def _end_turn(self, over: bool) -> None:
        if not self._turn.done():
            self._turn.set_result(over)

    def _set_timer(self, seconds: float | None) -> None:
        if seconds is not None:
            self._timer = self._watches.loop.call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.pump()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
