# SPDX-License-Identifier: Apache-2.0
"""A network between a client and a server, for a test to cut, stall or slow, where time is real.

It moves bytes and understands none of them, so what speaks through it may speak TLS. One
thread moves them all; `cut` and its like return once they hold.
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

from controller_runtime.core.host import Thread
from controller_runtime.core.system import SystemHost

_AT_ONCE = 65536
_ORDER_TIMEOUT = 10.0
_LOOK_AGAIN = 0.01
_PIECES_PER_SECOND = 50.0
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class TCPProxy:
    """Listens on a loopback port of its own and passes everything on to a server, until told otherwise.

    For protocols in which the client speaks first, as in HTTP and TLS: what befalls a new
    connection befalls it at its first words. Conditions add up (`stall` what is already
    slow), and `restore` ends them all. Entering starts it, leaving resets what is open.

    Args:
        target_host: Where the server listens. It may start later, and need not stay.
        target_port: Its port.

    Attributes:
        port: Where clients connect, on 127.0.0.1.
        accepted: Connections that clients have made so far.

    Raises:
        OSError: There is no free port.

    Threads: any, while it runs.
    """

    def __init__(self, target_host: str, target_port: int) -> None:
        self._target = (target_host, target_port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self.accepted = 0
        self._thread: Thread | None = None
        # The loop's thread alone touches what follows.
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
        """How many connections there are now."""
        return len(self._connections)

    def cut(self) -> None:
        """Reset every connection now, and new ones as they begin to speak, until `restore`."""

        def act() -> None:
            self._is_cut = True
            self._reset()

        self._order(act)

    def drop(self) -> None:
        """Reset every connection once; new ones are welcome."""
        self._order(self._reset)

    def stall(self) -> None:
        """Let nothing pass until `restore`, though connections stay open and new ones seem to be made."""
        self._order(self._may_pass.clear)

    def slow(self, seconds: float) -> None:
        """Let everything arrive so many seconds later, until `restore`."""

        def act() -> None:
            self._delay = seconds

        self._order(act)

    def drip(self, bytes_per_second: float) -> None:
        """Let answers pass at this pace, on each connection, until `restore`."""

        def act() -> None:
            self._rate = bytes_per_second

        self._order(act)

    def drop_after_request(self) -> None:
        """Lose one answer: pass on the next request, and reset its connection when the server has answered.

        The request that counts is the first on any connection that is open now. New ones do
        not count, for they begin with a handshake: make one request before.

        Raises:
            RuntimeError: There is no connection.
        """

        def act() -> None:
            if not self._connections:
                raise RuntimeError("no connection is open on which an answer could be lost")
            for connection in self._connections:
                connection.loses_next_answer = True

        self._order(act)

    def restore(self) -> None:
        """Let everything pass again, that which has been held first."""

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
        """Have the loop do something, and wait until it has."""

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
        # Those that have just been accepted are tasks before they are connections.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for connection in self._connections:
                connection.reset()
            await asyncio.wait(tasks, timeout=_LOOK_AGAIN)
        await asyncio.sleep(0)  # sockets are closed in the turn after the reset

    def _reset(self) -> None:
        # Python's TLS leaks the socket of a connection that ends before its handshake has begun.
        for connection in self._connections:
            if connection.has_spoken:
                connection.reset()

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One connection, from beginning to end."""
        connection = _Connection(writer)
        self.accepted += 1
        self._connections.add(connection)
        try:
            first = await reader.read(_AT_ONCE)
            connection.has_spoken = True
            if first and not self._is_cut:
                answers, requests = await self._reach_server(connection)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass_requests(connection, first, reader, requests))
                    group.create_task(self._pass_answers(connection, answers, writer))
                await connection.close()
        except* OSError:
            pass  # one side is gone, of which the other one shall hear
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
            data = await reader.read(_AT_ONCE)
        await self._hold()
        writer.write_eof()

    async def _pass_answers(self, connection: _Connection, reader: StreamReader, writer: StreamWriter) -> None:
        while data := await reader.read(_AT_ONCE):
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
        """Keep what has just been read for as long as the network takes."""
        if self._delay:
            await asyncio.sleep(self._delay)
        await self._may_pass.wait()


class _Connection:
    """A client's connection, and the one that it has with the server for it."""

    def __init__(self, client: StreamWriter) -> None:
        self.ends = [client]
        self.has_spoken = False
        self.loses_next_answer = False
        self.answer_is_lost = False

    async def close(self) -> None:
        """End it once everything has been sent."""
        for end in self.ends:
            end.close()
            await end.wait_closed()

    def reset(self) -> None:
        """End it without a farewell."""
        for end in self.ends:
            sock = end.get_extra_info("socket")
            with contextlib.suppress(OSError):  # it has been closed before
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            end.transport.abort()
