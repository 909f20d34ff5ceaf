# SPDX-License-Identifier: Apache-2.0
"""Delivery of watches to their clients.

A watch has one task, which stays suspended while events are sent: a callback of the event loop writes the lines
of the core straight to the connections, for all watches that an event concerns in one pass unless they are large.
Events for a slow client are not buffered here. The core ends its watch when it has fallen too far behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from functools import partial
from typing import Protocol

from aiohttp.http import HttpVersion11
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse

from apimachinery.host import Host
from apimachinery.http import Watch
from embedded_apiserver.shell.sending import PART, give_up, progress
from embedded_apiserver.shell.workers import Busy, Workers

# The most lines of one take, and takes of one watch in one pass of the loop: a busy watch leaves time for others.
_LINES = 64
_TAKES = 2
# Threads for watches whose events wait for webhooks, the most that wait for one, and seconds until the next try if all
# places are taken.
_TAKERS, _WAITING, _LATER = 16, 1024, 1.0
# Bytes that all watches together write in one pass of the loop; requests are answered between two passes.
_PASS = 4 * 1024 * 1024


class Watches:
    """The open watches of a server, and which of them have events to send. Threads: the event loop's, except for
    `wake`.
    """

    def __init__(self, host: Host, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.thread = threading.get_ident()
        self.takers = Workers[tuple[list[bytes], bool]](host, "watches", _TAKERS, _WAITING, lambda taken: None)
        self._open: dict[Watcher, None] = {}
        self._due: dict[Watcher, None] = {}
        # Guards the watches that other threads have woken.
        self._lock = host.lock("apiserver/watches")
        self._woken: list[Watcher] = []
        # The last line written, and its chunk. An event has the same line object in all watches, which share the chunk.
        self._line = self._chunk = b""

    def add(self, watcher: Watcher) -> None:
        """Add an open watch."""
        self._open[watcher] = None

    def remove(self, watcher: Watcher) -> None:
        """Remove a watch that has ended. Idempotent."""
        self._open.pop(watcher, None)
        self._due.pop(watcher, None)

    def wake(self, watcher: Watcher) -> None:
        """Schedule a watch to send its events in one of the next passes of the event loop. Threads: any."""
        if threading.get_ident() == self.thread:
            self.mark_due(watcher)
            return
        with self._lock:
            self._woken.append(watcher)
            is_first = len(self._woken) == 1
        if is_first:  # one call for all watches of an event, because each call writes to the loop's pipe
            with contextlib.suppress(RuntimeError):  # the loop is closed, and all watches have ended
                self.loop.call_soon_threadsafe(self._take_woken)

    def mark_due(self, watcher: Watcher) -> None:
        """Schedule a watch to send its events in the next pass of the event loop."""
        if not self._due:
            self.loop.call_soon(self._pump)
        self._due[watcher] = None

    def chunk(self, lines: list[bytes]) -> bytes:
        """Return the lines encoded as a chunk of an HTTP response."""
        if len(lines) > 1:
            return _chunk(b"".join(lines))
        if lines[0] is not self._line:
            self._line, self._chunk = lines[0], _chunk(lines[0])
        return self._chunk

    def end(self) -> None:
        """End all watches in the same way as at their timeout."""
        for watcher in tuple(self._open):
            watcher.finish()

    def finish(self) -> None:
        """End all watches, and stop the worker threads that take events which wait for webhooks."""
        self.end()
        self.takers.stop()

    def _take_woken(self) -> None:
        with self._lock:
            woken, self._woken = self._woken, []
        for watcher in woken:
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
        """Put these watchers first in the next pass."""
        if not self._due:
            self.loop.call_soon(self._pump)
        self._due = dict.fromkeys(due) | self._due


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Connection(Protocol):
    """The part of `asyncio.Transport` that a watch uses."""

    def write(self, data: bytes) -> None:
        """Send data; if the client does not read, the data is buffered."""

    def get_write_buffer_size(self) -> int:
        """Return the number of buffered bytes."""

    def is_closing(self) -> bool:
        """Return whether the connection is closing, so that further writes would be lost."""

    def abort(self) -> None:
        """Close the connection without sending the buffered data."""


class Watcher:
    """Sends the events of one watch to one client. Threads: the event loop's, except for `on_ready`."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self._watch: Watch | None = None  # None before the watch begins and after it ends: then `pump` does nothing
        self._connection: Connection | None = None
        self._chunked = True
        self._limit = 1
        self._timer: asyncio.TimerHandle | None = None
        # For a watch whose events wait for webhooks: the task that takes them, and whether it is to look again.
        self._taking: asyncio.Task[None] | None = None
        self._is_due = False
        # The task waits for it. Its result is True at the end of the watch, False if the client reads too slowly.
        self._turn: asyncio.Future[bool]

    def on_ready(self) -> None:
        """Schedule the watch to send its events, because there may be some. Threads: any."""
        self._watches.wake(self)

    async def serve(self, request: BaseRequest, watch: Watch) -> StreamResponse:
        """Answer a request with a watch until the watch ends or the client disconnects."""
        response = StreamResponse(headers=watch.headers)
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
        """Send events; return True at the end of the watch, False if the client must first read what was sent."""
        self._turn = asyncio.get_running_loop().create_future()
        self.pump()
        return await self._turn

    def finish(self) -> None:
        """End the watch in the same way as at its timeout."""
        self._end_turn(True)

    def pump(self) -> int:
        """Write available events as far as the client reads them; return the number of bytes written.

        If events wait for webhooks, a task writes them, and the result is 0.
        """
        written = 0
        if self._watch is None or self._connection is None or self._turn.done():
            return written
        if getattr(self._watch, "waits", False):
            self._is_due = True
            if self._taking is None:
                self._taking = self._watches.loop.create_task(self._take_apart(self._watch, self._connection))
            return written
        for _ in range(_TAKES):
            if self._connection.is_closing():  # the client has disconnected; further writes would be lost
                self._end_turn(True)
                return written
            if self._connection.get_write_buffer_size() > PART:
                self._end_turn(False)
                return written
            limit = self._limit
            lines, over = self._watch.take(limit)
            size = self.write(self._connection, lines) if lines else 0
            written += size
            # Lines can be long, and a take cannot be split. So a take has at most twice the lines of the last one, and
            # one line after a take of many bytes.
            self._limit = 1 if size > PART else min(_LINES, max(2, 2 * len(lines)))
            if over:
                self._end_turn(True)
                return written
            if len(lines) < limit:
                # A timer that is set stays, even if it is early: it then finds nothing and sets the next one, which
                # is cheaper than to move the timer at each event.
                if self._timer is None:
                    self._set_timer(self._watch.next_wake())
                return written
        self._watches.mark_due(self)
        return written

    async def _take_apart(self, watch: Watch, connection: Connection) -> None:
        """Send events that are taken on another thread, because they may have to be converted by a webhook first."""
        try:
            while self._is_due and self._watch is watch and not self._turn.done():
                self._is_due = False
                if connection.is_closing() or connection.get_write_buffer_size() > PART:
                    self._end_turn(connection.is_closing())
                    return
                lines, over = await self._watches.takers.do(partial(watch.take, _LINES))
                if lines and not connection.is_closing():
                    self.write(connection, lines)
                if over:
                    self._end_turn(True)
                elif len(lines) == _LINES:
                    self._is_due = True
                elif self._timer is None:
                    self._set_timer(watch.next_wake())
        except Busy:
            self._set_timer(_LATER)
        finally:
            self._taking = None

    def write(self, connection: Connection, lines: list[bytes]) -> int:
        """Write events to the connection; return the number of bytes written."""
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
