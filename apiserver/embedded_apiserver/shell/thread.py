# SPDX-License-Identifier: Apache-2.0
"""The shell on a thread of its own, for programs and tests that need a real socket within their own process."""

from __future__ import annotations

import asyncio
import socket
from types import TracebackType
from typing import Self

from apimachinery.host import Host, Thread
from apimachinery.http import Handler
from embedded_apiserver.shell.address import LOOPBACK
from embedded_apiserver.shell.shell import Shell, serve
from embedded_apiserver.shell.tls import Certificates


class LoopbackServer:
    """Serves a handler on a loopback address, on its own thread, inside a `with` block.

    Args:
        host: The host of the real machine. A simulated host is not possible, because an event loop waits in the
            operating system.
        handler: Answers the requests; called on the server's thread, and for slow requests on others.
        certificates: The certificates of the server; None for plain HTTP.
        port: The port; 0 lets the system choose one.
        sock: A bound socket to use instead of `port`; it is closed at the end.
        daemon: True if the process may exit before the server has been stopped.

    Threads: one owner.
    """

    def __init__(
        self,
        host: Host,
        handler: Handler,
        *,
        certificates: Certificates | None = None,
        port: int = 0,
        sock: socket.socket | None = None,
        daemon: bool = False,
    ) -> None:
        self._socket = sock
        self._is_daemon = daemon
        self._shell = Shell(host, handler)
        self._host = host
        self._certificates = certificates
        self._asked_port = port
        self._thread: Thread | None = None
        # Guards the four attributes below, which the server's thread sets and `start` and `stop` read.
        self._condition = host.condition("loopback server")
        self._port = 0
        self._ended = False
        self._failure: OSError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._until = asyncio.Event()

    @property
    def url(self) -> str:
        """The base URL of the server; valid after `start`."""
        # One number, written once, before `start` returns.
        return f"{'https' if self._certificates else 'http'}://{LOOPBACK}:{self._port}"

    @property
    def port(self) -> int:
        """The port of the server; 0 before `start`."""
        return self._port  # one number, written once, before `start` returns

    def start(self) -> None:
        """Start the server and wait until it accepts connections.

        Raises:
            OSError: The port is in use or not allowed.
        """
        self._thread = self._host.spawn("apiserver", self._run, daemon=self._is_daemon)
        with self._condition:
            while not self._port and not self._ended:
                self._condition.wait_until(None)
        if self._failure is not None:  # written before the end for which `start` has waited
            raise self._failure

    def cut(self) -> None:
        """End the watches and abort the connections with a request in progress; return when this is done."""
        with self._condition:
            loop = None if self._ended else self._loop
        if loop is not None:
            asyncio.run_coroutine_threadsafe(self._shell.cut(), loop).result()

    def stop(self) -> None:
        """Stop the server within about a second: end the watches and close all connections. Idempotent."""
        with self._condition:
            loop = None if self._ended else self._loop
        if loop is not None:
            loop.call_soon_threadsafe(self._until.set)
        if self._thread is not None:
            self._thread.join_until(None)

    def _run(self) -> None:
        failure: OSError | None = None
        try:
            asyncio.run(self._serve())
        except OSError as error:
            failure = error
        finally:
            with self._condition:
                self._failure = failure
                self._ended = True
                self._condition.notify_all()

    async def _serve(self) -> None:
        context = self._certificates.server_context() if self._certificates else None
        port, sock = self._asked_port, self._socket
        await serve(self._shell, self._until, self._is_ready, port=port, context=context, sock=sock)

    def _is_ready(self, port: int) -> None:
        with self._condition:
            self._loop = asyncio.get_running_loop()
            self._port = port
            self._condition.notify_all()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.stop()
