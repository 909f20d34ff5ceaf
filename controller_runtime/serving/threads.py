# SPDX-License-Identifier: Apache-2.0
"""Answers that may wait, for webhooks: kept connections of HTTP/1.1, a thread for each, within bounds.

A thread for each connection, because functions of webhooks may wait: then only their own connection does. It starts
when the first head has come. An API server keeps a few connections open and sends its reviews over those.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Self

from apimachinery.host import Host, Thread
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.stop import Stop, spawn
from controller_runtime.serving.bodies import RequestBodies
from controller_runtime.serving.http_text import encoded_response
from controller_runtime.serving.rare_line import RareLine
from controller_runtime.serving.reader import PATIENCE, Reader
from controller_runtime.serving.slots import ConnectionSlots

log = get_logger(__name__)

MOST_CONNECTIONS = 256
"""Connections at a time that have sent a head. For one more, one is closed that waits for its peer: first those that
never had a review answered, then the one that has waited longest. If none waits the new one is closed."""

IDLE = 120.0
"""Seconds after which a connection without a request is closed; Go's clients close theirs after 90."""

GRACE = 5.0
"""Seconds that requests in progress have when the server stops."""

Answer = Callable[[HTTPRequest], HTTPResponse]
"""Answers a request, on the thread of its connection; it may wait, and never raises."""


class AnswerThreads:
    """Answers requests on one thread per connection, for answers that may wait.

    A context manager: enter it before that of the server, and leave it after that.

    Args:
        host: The source of threads and time; it must be the real machine, not a simulation.
        stop: Set, with the error as its failure, if a thread fails.
        answer: Returns the answer to a request.
        limit_of: Returns the most bytes of a body, by path; a longer body is refused with status 413, without reading
            it.
        budget: The memory in bytes for all bodies together, including decoded data: see `bodies.py`.

    Threads: the server's for `arrived`, one for the `with` block.
    """

    def __init__(self, host: Host, stop: Stop, answer: Answer, limit_of: Callable[[str], int], budget: int) -> None:
        self._host = host
        self._stop = stop
        self._answer = answer
        self._limit_of = limit_of
        self._bodies = RequestBodies(host, budget)
        self._rare = RareLine(host, log)
        self._lock = host.lock("connections")
        # Guarded by the lock, with the fields of each connection.
        self._slots = ConnectionSlots[_Kept](MOST_CONNECTIONS)
        self._ends = False
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        with self._lock:
            self._ends = True
            idle = [each for each in self._slots if each.is_idle]
            threads = [each.thread for each in self._slots if each.thread is not None]
        for each in idle:
            each.end()
        deadline = self._host.monotonic() + GRACE
        if not all(thread.join_until(deadline) for thread in threads):
            with self._lock:
                rest = [*self._slots]
            for each in rest:
                each.end()

    def arrived(self, sock: socket.socket, buffer: bytearray) -> Callable[[], None]:
        """Return the function that takes over a connection, whose received bytes are in `buffer`."""
        return partial(self._begin, sock, buffer)

    def _begin(self, sock: socket.socket, buffer: bytearray) -> None:
        """Give a connection a thread, or close it if there is no place or no thread."""
        sock.settimeout(PATIENCE)
        one = _Kept(sock)
        with self._lock:
            victim = self._slots.take(one, self._host.monotonic())
            number = self._next = self._next + 1
        if victim is one:
            self._rare.warning("connection refused: all are busy", connections=MOST_CONNECTIONS)
            sock.close()
            return
        if victim is not None:
            victim.end()
        try:
            one.thread = spawn(self._host, self._stop, f"connection/{number}", partial(self._serve, one, buffer))
        except RuntimeError as error:  # the system has no thread left
            self._rare.warning("connection refused: no thread for it", error=error)
            with self._lock:
                self._slots.give_back(one)
            sock.close()

    def _serve(self, one: _Kept, buffer: bytearray) -> None:
        reader = Reader(self._host, one.sock, buffer, self._bodies, one.end)
        try:
            with contextlib.suppress(OSError), one.sock:  # ssl's errors are OSErrors, too
                while self._serve_one(one, reader):
                    reader.release()
        finally:
            reader.release()
            with self._lock:
                self._slots.give_back(one)

    def _serve_one(self, one: _Kept, reader: Reader) -> bool:
        """Answer one request, and return whether the connection goes on."""
        if not self._wait(one, is_idle=True) or not reader.wait(IDLE):
            return False
        self._wait(one, is_idle=False)
        request = reader.request(self._limit_of)
        with self._lock:
            self._slots.hold(one)
        if isinstance(request, int):
            phrase = f"{HTTPStatus(request).phrase.lower()}\n".encode()
            self._send(one, HTTPResponse(request, {"connection": "close"}, phrase))
            reader.drop_rest()
            return False
        # Set once; a request that misses it is the last but one.
        goes_on = request.headers.get("connection", "").lower() != "close" and not self._ends
        response = self._answer(request)
        one.rank = max(one.rank, int(response.status == HTTPStatus.OK))
        headers = {**response.headers, "connection": "keep-alive" if goes_on else "close"}
        self._send(one, response._replace(headers=headers), with_body=request.method != "HEAD")
        return goes_on

    def _wait(self, one: _Kept, *, is_idle: bool) -> bool:
        """Note that a connection waits for its peer; return False if it is idle and the server ends."""
        with self._lock:
            one.is_idle = is_idle
            self._slots.wait(one, self._host.monotonic(), one.rank)
            return not (is_idle and self._ends)

    def _send(self, one: _Kept, response: HTTPResponse, *, with_body: bool = True) -> None:
        self._wait(one, is_idle=False)  # a peer that does not read its answer makes way, too
        one.sock.settimeout(PATIENCE)
        one.sock.sendall(encoded_response(response, with_body=with_body))


class _Kept:
    """One connection. Threads: its own; `end` any."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.thread: Thread | None = None
        self.is_idle = False
        self.rank = 0  # 1 once a review of it was answered with 200

    def end(self) -> None:
        """End the connection in both directions, so that its thread ends: its reads and writes fail from then on."""
        with contextlib.suppress(OSError):  # the peer has ended it, or it has ended by itself
            # Not the method of SSLSocket: for an instant it would let a writer go on without encryption.
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
