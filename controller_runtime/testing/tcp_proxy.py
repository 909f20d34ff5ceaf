# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy between a client and a server, which a test in real time can cut, stall or slow down.

It copies bytes and does not interpret them, so clients may use TLS. One thread copies all of them; `cut` and the other
methods return when they are in effect.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from types import TracebackType
from typing import Self

from apimachinery.host import Thread
from apimachinery.system import SystemHost

_READ_SIZE = 65536
"""The most bytes to read at a time."""
_ORDER_TIMEOUT = 10.0
"""Seconds for the event loop to carry out a method, which takes it no time; after more the loop has failed."""
_CLOSE_INTERVAL = 0.01
"""Seconds between two attempts to end the connections when the proxy is closed."""
_PIECES_PER_SECOND = 50.0
"""The number of pieces into which `drip` divides a second's bytes, so that they arrive evenly."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER, on and with zero seconds, so that closing the socket sends a reset."""


class TCPProxy:
    """Listens on its own loopback port, and copies everything to and from a server, until a method says otherwise.

    It is for protocols in which the client sends first, such as HTTP and TLS: a new connection is
    cut or stalled when its first bytes arrive. Conditions add up (a slow connection can be stalled
    too), and `restore` ends them all. Entering starts the proxy, leaving resets the open connections.

    Args:
        target_host: The server's host. The server may start later, and restart.
        target_port: The server's port.

    Attributes:
        port: The port that clients connect to, on 127.0.0.1.
        accepted: The number of connections that clients have made so far.

    Raises:
        OSError: No port is free.

    Threads: any, while it runs.
    """

    def __init__(self, target_host: str, target_port: int) -> None:
        self._target = (target_host, target_port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self.accepted = 0
        self._thread: Thread | None = None
        # Only the loop's thread uses the fields below, so they need no lock.
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._may_pass = asyncio.Event()
        self._may_pass.set()
        self._is_cut = False
        self._delay = 0.0
        self._rate: float | None = None
        self._connections: set[_Connection] = set()

    @property
    def open(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    def cut(self) -> None:
        """Reset every connection now, and new ones when their first bytes arrive, until `restore`."""

        def act() -> None:
            self._is_cut = True
            self._reset()

        self._order(act)

    def drop(self) -> None:
        """Reset every connection once; new ones are served."""
        self._order(self._reset)

    def stall(self) -> None:
        """Hold back all bytes until `restore`; connections stay open, and new ones are accepted."""
        self._order(self._may_pass.clear)

    def slow(self, seconds: float) -> None:
        """Delay all bytes by `seconds` in each direction, until `restore`."""

        def act() -> None:
            self._delay = seconds

        self._order(act)

    def drip(self, bytes_per_second: float) -> None:
        """Limit the answers on each connection to `bytes_per_second`, until `restore`."""

        def act() -> None:
            self._rate = bytes_per_second

        self._order(act)

    def drop_after_request(self) -> None:
        """Lose one answer: forward the next request, and reset its connection when the server has answered.

        This affects the next request on any connection that is open now. New connections do not count,
        because their first bytes are a TLS handshake; so make a request before.

        Raises:
            RuntimeError: No connection is open.
        """

        def act() -> None:
            if not self._connections:
                raise RuntimeError("no connection is open on which an answer could be lost")
            for connection in self._connections:
                connection.loses_next_answer = True

        self._order(act)

    def restore(self) -> None:
        """End all conditions; bytes that were held back are forwarded first."""

        def act() -> None:
            self._is_cut, self._delay, self._rate = False, 0.0, None
            for connection in self._connections:
                connection.loses_next_answer = False
            self._may_pass.set()

        self._order(act)

    def __enter__(self) -> Self:
        self._thread = SystemHost("tcp-proxy").spawn("tcp-proxy", self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._thread is not None
        self._order(self._closing.set)
        self._thread.join_until(None)

    def _order(self, action: Callable[[], None]) -> None:
        """Run `action` on the loop's thread, and wait until it has run."""

        async def act() -> None:
            action()

        asyncio.run_coroutine_threadsafe(act(), self._loop).result(_ORDER_TIMEOUT)

    # On the loop's thread.

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, sock=self._listener)
        await self._closing.wait()
        server.close()
        self._may_pass.set()
        # Repeated, because a connection that has just been accepted is a task before it is in `_connections`.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for connection in self._connections:
                connection.reset()
            await asyncio.wait(tasks, timeout=_CLOSE_INTERVAL)
        await asyncio.sleep(0)  # the loop closes sockets one iteration after the reset

    def _reset(self) -> None:
        # Only connections that have sent: Python's TLS leaks the socket of one that ends before its handshake begins.
        for connection in self._connections:
            if connection.has_spoken:
                connection.reset()

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serve one connection until it ends."""
        connection = _Connection(writer)
        self.accepted += 1
        self._connections.add(connection)
        try:
            first = await reader.read(_READ_SIZE)
            connection.has_spoken = True
            if first and not self._is_cut:
                answers, requests = await self._reach_server(connection)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass_requests(connection, first, reader, requests))
                    group.create_task(self._pass_answers(connection, answers, writer))
                await connection.close()
        except* OSError:
            pass  # one side has closed or reset its end; `reset` below closes the other
        finally:
            connection.reset()
            self._connections.remove(connection)

    async def _reach_server(self, connection: _Connection) -> tuple[StreamReader, StreamWriter]:
        await self._may_pass.wait()
        answers, requests = await asyncio.open_connection(*self._target)
        connection.ends.append(requests)
        return answers, requests

    async def _pass_requests(
        self, connection: _Connection, data: bytes, reader: StreamReader, writer: StreamWriter
    ) -> None:
        while data:
            await self._hold()
            if connection.loses_next_answer:
                connection.answer_is_lost = True
                for each in self._connections:
                    each.loses_next_answer = False
            writer.write(data)
            await writer.drain()
            data = await reader.read(_READ_SIZE)
        await self._hold()
        writer.write_eof()

    async def _pass_answers(self, connection: _Connection, reader: StreamReader, writer: StreamWriter) -> None:
        while data := await reader.read(_READ_SIZE):
            await self._hold()
            if connection.answer_is_lost:
                connection.reset()
            while data and self._rate is not None:
                size = max(1, int(self._rate / _PIECES_PER_SECOND))
                writer.write(data[:size])
                data = data[size:]
                await asyncio.sleep(size / self._rate)
                await self._may_pass.wait()
            writer.write(data)
            await writer.drain()
        await self._hold()
        writer.write_eof()

    async def _hold(self) -> None:
        """Wait for as long as the conditions hold back what has just been read."""
        if self._delay:
            await asyncio.sleep(self._delay)
        await self._may_pass.wait()


class _Connection:
    """A client's connection, and the connection to the server that belongs to it."""

    def __init__(self, client: StreamWriter) -> None:
        self.ends = [client]
        self.has_spoken = False
        self.loses_next_answer = False
        self.answer_is_lost = False

    async def close(self) -> None:
        """Close both ends when everything has been sent."""
        for end in self.ends:
            end.close()
            await end.wait_closed()

    def reset(self) -> None:
        """Reset both ends at once."""
        for end in self.ends:
            sock = end.get_extra_info("socket")
            with contextlib.suppress(OSError):  # it is closed already
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            end.transport.abort()
