# SPDX-License-Identifier: Apache-2.0
"""A loopback proxy between an operator and an outside service: an observer chooses the faults of each exchange."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from asyncio import StreamReader, StreamWriter
from types import TracebackType
from typing import Protocol, Self

from apimachinery.host import Host, Thread
from controller_runtime.testing.outside.courses import Course
from controller_runtime.testing.perturbation.others.requests import NotHTTP, first_request

LOOPBACK = "127.0.0.1"
_READ_SIZE = 65536
"""The most bytes to read at a time."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER, on and with zero seconds, so that closing the socket sends a reset, as a refused connection does."""
_CLOSE_INTERVAL = 0.01
"""Seconds between two attempts to end the connections when the proxy is closed."""


class Observer(Protocol):
    """Chooses the faults of exchanges. Its methods are called on the thread of the proxy, one at a time."""

    def begins(self, text: str, reads: bool) -> tuple[int, Course]:
        """Return the number of a new exchange, and how it goes. For an exchange at whose beginning the program is to
        end, kill the program first.
        """

    def answered(self, number: int) -> None:
        """Called when the service begins to answer, or ends the connection, before the program gets any of that."""

    def ended(self, number: int) -> None:
        """Called when the proxy has finished an exchange; the answer to one without a fault may still come."""

    def end_program(self) -> None:
        """Kill the program."""

    def speaks_otherwise(self) -> None:
        """Called when a connection that should carry HTTP does not."""


class _Over(Exception):
    """A connection has ended as its course says."""


class _Link:
    """A connection of the program, and the one to the service that belongs to it."""

    def __init__(self, requests: StreamReader, answers: StreamWriter) -> None:
        self.requests, self.answers = requests, answers
        self.service: StreamWriter | None = None
        self.pump: asyncio.Task[None] | None = None
        self.waiting = 0  # the number of the exchange that the service has not begun to answer
        self.keeps_answers = False
        self.is_answered = asyncio.Event()
        self.exchanges = 0

    def reset(self) -> None:
        if self.pump is not None:
            self.pump.cancel()
        for end in (self.answers, self.service):
            if end is not None:
                sock = end.get_extra_info("socket")
                with contextlib.suppress(OSError):  # it is closed already
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                end.transport.abort()


class OutsideProxy:
    """Listens on a loopback port within the `with` block, and forwards exchanges to a service.

    With HTTP an exchange is a request. Otherwise an exchange is all bytes that the program sends until the service
    answers; the first exchange of a connection is its opening.

    Args:
        host: Starts the thread.
        port: The loopback port of the service.
        speaks_http: True if connections carry HTTP/1.1 without TLS.
        observer: Chooses the faults of exchanges.

    Attributes:
        port: The port that the program connects to.

    Threads: one owner; the proxy has its own thread.
    """

    def __init__(self, host: Host, port: int, speaks_http: bool, observer: Observer) -> None:
        self._host, self._target, self._speaks_http, self._observer = host, port, speaks_http, observer
        self._listener = socket.create_server((LOOPBACK, 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        # Only the loop's thread uses the fields below, so they need no lock.
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._links: set[_Link] = set()
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        self._thread = self._host.spawn("proxy of an outside service", self._run)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._thread is not None, "it was entered"
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join_until(None)

    # On the loop's thread.

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, sock=self._listener)
        await self._closing.wait()
        server.close()
        # Repeated, because a connection that has just been accepted is a task before it is in `_links`.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_CLOSE_INTERVAL)
        await asyncio.sleep(0)  # the loop closes sockets one iteration after the reset

    async def _accept(self, requests: StreamReader, answers: StreamWriter) -> None:
        link = _Link(requests, answers)
        self._links.add(link)
        try:
            await (self._serve_http(link) if self._speaks_http else self._serve_bytes(link))
        except NotHTTP:
            self._observer.speaks_otherwise()
        except (_Over, OSError, asyncio.CancelledError):
            pass  # one side has ended; `reset` ends the other
        finally:
            link.reset()
            self._links.discard(link)

    async def _serve_http(self, link: _Link) -> None:
        data = b""
        while True:
            while (found := first_request(data)) is None:
                if not (more := await link.requests.read(_READ_SIZE)):
                    return
                data += more
            await self._exchange(link, found.text, found.reads, data[: found.length])
            data = data[found.length :]

    async def _serve_bytes(self, link: _Link) -> None:
        data = b""
        while True:
            if link.waiting:
                await self._send(link, data)  # more of the exchange that is under way
            else:
                link.exchanges += 1
                text = "connect" if link.exchanges == 1 else f"exchange {link.exchanges - 1}"
                await self._exchange(link, text, False, data)
            if not (data := await link.requests.read(_READ_SIZE)):
                return

    async def _exchange(self, link: _Link, text: str, reads: bool, data: bytes) -> None:
        """Pass an exchange on, or do with it what the observer says."""
        number, course = self._observer.begins(text, reads)
        try:
            if course.late:
                await asyncio.sleep(course.late)  # it arrives also if the program has hung up meanwhile
            if course.times:
                link.is_answered.clear()
                link.keeps_answers = bool(course.error) or course.ends
                link.waiting = number if data else 0  # a service need not answer a connection
                await self._send(link, data)
            if link.keeps_answers and data:
                await link.is_answered.wait()
            if course.ends and course.times:
                self._observer.end_program()
            if course.wait:
                await asyncio.sleep(course.wait)
            if course.error or course.ends:
                raise _Over
            if course.late and data:
                await link.is_answered.wait()
        finally:
            self._observer.ended(number)

    async def _send(self, link: _Link, data: bytes) -> None:
        if link.service is None or link.service.is_closing():
            answers, link.service = await asyncio.open_connection(LOOPBACK, self._target)
            link.pump = asyncio.get_running_loop().create_task(self._pass_answers(link, answers))
        link.service.write(data)
        await link.service.drain()

    async def _pass_answers(self, link: _Link, answers: StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await answers.read(_READ_SIZE):
                self._note_answer(link)
                if not link.keeps_answers:
                    link.answers.write(data)
                    await link.answers.drain()
        self._note_answer(link)  # a service may also end the connection
        if not link.keeps_answers:
            link.answers.close()

    def _note_answer(self, link: _Link) -> None:
        if link.waiting:
            self._observer.answered(link.waiting)
            link.waiting = 0
        link.is_answered.set()


def free_port() -> int:
    """Return a loopback port that was free a moment ago."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def accepts(port: int, seconds: float) -> bool:
    """Return whether a loopback port accepts a connection within `seconds`."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=seconds).close()
    except OSError:
        return False
    return True
