# SPDX-License-Identifier: Apache-2.0
"""Accepts the connections of a listening socket, on one thread that has them until their first head has come."""

from __future__ import annotations

import selectors
import socket
import ssl
from collections.abc import Callable
from contextlib import closing
from types import TracebackType
from typing import Self

from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.stop import Stop, spawn
from controller_runtime.serving.front import Arrived, Front
from controller_runtime.serving.rare_line import RareLine

log = get_logger(__name__)

ACCEPT_AGAIN = 1.0
"""Seconds until the next attempt to accept a connection after one failed, as it does without a free descriptor."""


class Server:
    """Accepts connections on a listening socket, and answers their requests, while its `with` block lasts.

    Args:
        host: The source of threads and time; it must be the real machine, not a simulation.
        stop: Set, with the error as its failure, if the server's thread fails, as it does if an answer raises
            `SystemExit`.
        listener: A socket that listens; the caller closes it.
        arrived: The method `arrived` of `PromptAnswers` or `AnswerThreads`.
        context: Returns the TLS context for a new connection, so that a renewed certificate is used; None for plain
            HTTP.

    Threads: one.
    """

    def __init__(
        self,
        host: Host,
        stop: Stop,
        listener: socket.socket,
        arrived: Arrived,
        context: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._host = host
        self._stop = stop
        self._listener = listener
        self._arrived = arrived
        self._context = context
        self._rare = RareLine(host, log)
        self._waker, self._woken = socket.socketpair()

    def __enter__(self) -> Self:
        self._thread = spawn(self._host, self._stop, f"http/{self._listener.getsockname()[1]}", self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._waker.send(b"x")
        self._thread.join_until(None)
        self._waker.close()
        self._woken.close()

    def _run(self) -> None:
        self._listener.setblocking(False)
        with (
            selectors.DefaultSelector() as selector,
            closing(Front(self._host, selector, self._arrived)) as front,
        ):
            self._serve(selector, front)

    def _serve(self, selector: selectors.BaseSelector, front: Front) -> None:
        """Accept connections and go on with those that are there, until the server ends."""
        selector.register(self._woken, selectors.EVENT_READ)
        listens, again_at = False, self._host.monotonic()
        while True:
            now = self._host.monotonic()
            pause = max(front.wait_for_place(), again_at - now)
            if listens and pause > 0.0:  # until there is a slot, connections wait in the operating system's queue
                selector.unregister(self._listener)
            elif not listens and pause <= 0.0:
                selector.register(self._listener, selectors.EVENT_READ)
            listens = pause <= 0.0
            ends = [*([] if listens else [now + pause]), *([] if (end := front.next_end()) is None else [end])]
            for key, _ in selector.select(max(0.0, min(ends) - now) if ends else None):
                if key.fileobj is self._woken:
                    return
                if key.fileobj is self._listener:
                    again_at = self._accept(front)
                else:
                    key.data()
            front.expire()

    def _accept(self, front: Front) -> float:
        """Accept a connection, and return the monotonic second from which on the next one may be accepted."""
        now = self._host.monotonic()
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):  # the peer has gone
            return now
        except OSError as error:
            log.warning("connection not accepted", error=error, retry_in=ACCEPT_AGAIN)
            return now + ACCEPT_AGAIN
        try:
            context = self._context and self._context()
        except OSError as error:  # there is no certificate yet, because the program stops before it had one
            accepted.close()
            self._rare.warning("connection refused: no certificate for it", error=error)
        else:
            front.enter(accepted, context)
        return now
