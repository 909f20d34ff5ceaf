# SPDX-License-Identifier: Apache-2.0
"""Serves webhooks over TLS: HTTP/1.1 with kept connections, one thread for each, and bounds for what a peer can hold.

A thread for each connection, because functions of webhooks may wait: then only their own connection does. It starts
when the first head has come, since any pod may open connections: until then one thread has all of them (`arrivals.py`).
An API server keeps a few connections open and sends its reviews over those.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
from collections.abc import Callable
from http import HTTPStatus
from types import TracebackType
from typing import Self

from apimachinery.host import Host, Thread
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.stop import Stop, spawn
from controller_runtime.api.http_text import encoded_response
from controller_runtime.core.rare_line import RareLine
from controller_runtime.webhooks.arrivals import Arrivals
from controller_runtime.webhooks.bodies import Bodies
from controller_runtime.webhooks.reader import HEAD_LIMIT, PATIENCE, Reader

log = get_logger(__name__)

MOST_CONNECTIONS = 256
"""Connections at a time that have sent a head. For one more, one is closed that has no review to be answered: first
those that never had one answered, then the one that has waited longest. If there is none the new one is closed."""

IDLE = 120.0
"""Seconds after which a connection without a request is closed; Go's clients close theirs after 90."""

GRACE = 5.0
"""Seconds that requests in progress have when the server stops."""

ACCEPT_AGAIN = 1.0
"""Seconds until the next attempt to accept a connection after one failed, as it does without a free descriptor."""

Answer = Callable[[HTTPRequest], HTTPResponse]
"""Answers a request, on the thread of its connection; it may wait."""


class TLSServer:
    """Answers requests on a listening socket while the `with` block lasts.

    Args:
        host: Its threads and its clock; it must be the real machine.
        stop: Failed if the accepting thread fails.
        listener: A socket that listens; the caller closes it.
        context: Returns the TLS context of a new connection, so that a renewed certificate is presented from then on.
        answer: Answers.
        limit_of: Returns the most bytes of a body, by path; a longer one is refused unread, with status 413.
        budget: Bytes of memory for all bodies together, and what is decoded of them: see `bodies.py`.

    Threads: one; the answers run on those of connections.
    """

    def __init__(
        self,
        host: Host,
        stop: Stop,
        listener: socket.socket,
        context: Callable[[], ssl.SSLContext],
        answer: Answer,
        limit_of: Callable[[str], int],
        budget: int,
    ) -> None:
        self._host = host
        self._stop = stop
        self._listener = listener
        self._context = context
        self._answer = answer
        self._limit_of = limit_of
        self._lock = host.lock("webhook connections")
        self._bodies = Bodies(host, budget)
        self._rare = RareLine(host, log)
        # Guarded by the lock, with the fields of each: the connections that have sent a head, in order of arrival.
        self._connections: dict[int, _Connection] = {}
        self._ends = False
        self._next = 0
        self._waker, self._woken = socket.socketpair()

    def __enter__(self) -> Self:
        port = self._listener.getsockname()[1]
        self._thread = spawn(self._host, self._stop, f"webhooks/{port}", self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        with self._lock:
            self._ends = True
            idle = [each for each in self._connections.values() if each.is_idle]
            threads = [each.thread for each in self._connections.values() if each.thread is not None]
        self._waker.send(b"x")
        self._thread.join_until(None)
        for each in idle:
            each.end()
        deadline = self._host.monotonic() + GRACE
        if not all(thread.join_until(deadline) for thread in threads):
            with self._lock:
                rest = [*self._connections.values()]
            for each in rest:
                each.end()
        self._waker.close()
        self._woken.close()

    def _accept(self) -> None:
        self._listener.setblocking(False)
        with selectors.DefaultSelector() as selector:
            arrivals = Arrivals(self._host, selector, HEAD_LIMIT, PATIENCE, self._begin)
            try:
                self._arrive(selector, arrivals)
            finally:
                arrivals.close()

    def _arrive(self, selector: selectors.BaseSelector, arrivals: Arrivals) -> None:
        """Accept connections and advance those that are arriving, until the server ends."""
        selector.register(self._woken, selectors.EVENT_READ)
        listens, again_at = False, self._host.monotonic()
        while True:
            pause = max(arrivals.wait_for_place(), again_at - self._host.monotonic())
            if listens and pause > 0.0:
                selector.unregister(self._listener)
            elif not listens and pause <= 0.0:
                selector.register(self._listener, selectors.EVENT_READ)
            listens = pause <= 0.0
            ends = [] if (end := arrivals.next_end()) is None else [end]
            for key, _ in selector.select(min([*ends, *([] if listens else [pause])], default=None)):
                if key.fileobj is self._woken:
                    return
                if key.fileobj is self._listener:
                    again_at = self._accept_one(arrivals)
                else:
                    key.data()
            arrivals.drop_late()

    def _accept_one(self, arrivals: Arrivals) -> float:
        """Accept a connection, and return the monotonic second from which on the next one may be accepted."""
        now = self._host.monotonic()
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return now
        except OSError as error:
            log.warning("connection not accepted", error=error, retry_in=ACCEPT_AGAIN)
            return now + ACCEPT_AGAIN
        try:
            arrivals.enter(accepted, self._context())
        except OSError as error:  # there is no certificate yet, because the program stops before it had one
            accepted.close()
            self._rare.warning("connection refused: no certificate for it", error=error)
        return now

    def _begin(self, secured: ssl.SSLSocket, buffer: bytearray) -> None:
        """Give a connection whose head has come a thread, or close it if there is no place or no thread."""
        secured.settimeout(PATIENCE)
        connection = _Connection(secured)
        with self._lock:
            crowd = list(self._connections.values()) if len(self._connections) >= MOST_CONNECTIONS else []
            name = self._next
            self._next += 1
            victim = min((each for each in crowd if each.waiting_since is not None), key=_worth, default=None)
            if not crowd or victim is not None:
                self._connections[name] = connection
        if crowd and victim is None:
            self._rare.warning("connection refused: all are busy", connections=MOST_CONNECTIONS)
            secured.close()
            return
        if victim is not None:
            victim.end()
        try:
            connection.thread = spawn(
                self._host, self._stop, f"webhook-connection/{name}", lambda: self._serve(name, connection, buffer)
            )
        except RuntimeError as error:  # the system has no thread left
            self._rare.warning("connection refused: no thread for it", error=error)
            with self._lock:
                del self._connections[name]
            secured.close()

    def _serve(self, name: int, connection: _Connection, buffer: bytearray) -> None:
        reader = Reader(self._host, connection.secured, buffer, self._bodies, connection.end)
        try:
            with contextlib.suppress(OSError), connection.secured:  # ssl's errors are OSErrors, too
                while self._serve_one(connection, reader):
                    reader.release()
        finally:
            reader.release()
            with self._lock:
                del self._connections[name]

    def _serve_one(self, connection: _Connection, reader: Reader) -> bool:
        """Answer one request, and return whether the connection goes on."""
        with self._lock:
            if self._ends:
                return False
            connection.waiting_since, connection.is_idle = self._host.monotonic(), True
        begun = reader.wait(IDLE)
        with self._lock:
            connection.waiting_since, connection.is_idle = self._host.monotonic(), False
        if not begun:
            return False
        request = reader.request(self._limit_of)
        with self._lock:
            connection.waiting_since = None
        if isinstance(request, int):
            phrase = f"{HTTPStatus(request).phrase.lower()}\n".encode()
            connection.send(encoded_response(HTTPResponse(request, {"connection": "close"}, phrase)))
            reader.drop_rest()
            return False
        # Set once; a request that misses it is the last but one.
        goes_on = request.headers.get("connection", "").lower() != "close" and not self._ends
        response = self._answer(request)
        connection.was_answered = connection.was_answered or response.status == HTTPStatus.OK
        headers = {**response.headers, "connection": "keep-alive" if goes_on else "close"}
        connection.send(encoded_response(response._replace(headers=headers)))
        return goes_on


class _Connection:
    """One connection. Threads: its own; `end` any."""

    def __init__(self, secured: ssl.SSLSocket) -> None:
        self.secured = secured
        self.thread: Thread | None = None
        self.is_idle = False
        self.waiting_since: float | None = None  # for a request, or the rest of its body
        self.was_answered = False  # whether a review of it was answered with 200

    def send(self, data: bytes) -> None:
        self.secured.settimeout(PATIENCE)
        self.secured.sendall(data)

    def end(self) -> None:
        """End the connection in both directions, so that its thread ends: its reads and writes fail from then on."""
        with contextlib.suppress(OSError):  # the peer has ended it, or it has ended by itself
            # Not the method of SSLSocket: for an instant it would let a writer go on without encryption.
            socket.socket.shutdown(self.secured, socket.SHUT_RDWR)


def _worth(connection: _Connection) -> tuple[bool, float]:
    """Order the connections that wait: the first is closed for a new one."""
    return connection.was_answered, connection.waiting_since or 0.0
