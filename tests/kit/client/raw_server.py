# SPDX-License-Identifier: Apache-2.0
"""A server whose connections a test scripts, for behavior that a correct server never shows."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Self

from kubernetes.client import Configuration

from apimachinery.host import Host, Thread

Script = Callable[["Connection"], None]


class Connection:
    """One accepted connection. Threads: its script's."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.settimeout(60.0)

    def read_request(self) -> bytes:
        """Return the head of the next request, its body read too, or as much of it as came before the client went."""
        head = b""
        with contextlib.suppress(OSError):
            while not head.endswith(b"\r\n\r\n") and (byte := self.sock.recv(1)):
                head += byte
            length = int(head.partition(b"content-length: ")[2].partition(b"\r")[0] or 0)
            while length and (part := self.sock.recv(length)):
                length -= len(part)
        return head

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.sock.sendall(part)

    def drip(self, data: bytes) -> None:
        """Send one byte at a time until the client goes; the pace is a read that times out."""
        self.sock.settimeout(0.01)
        while True:
            try:
                if not self.sock.recv(1):
                    return
            except TimeoutError:
                try:
                    self.sock.send(data[:1])
                except OSError:
                    return
                data = data[1:] + data[:1]
            except OSError:
                return

    def wait_for_end(self) -> None:
        """Send nothing until the client goes."""
        try:
            while self.sock.recv(1024):
                pass
        except OSError:
            return


class RawServer:
    """Accepts on loopback and runs the scripts, one connection each, in order. Threads: one owner."""

    def __init__(self, host: Host, *scripts: Script) -> None:
        self._host = host
        self._scripts = scripts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[Thread] = []
        self._socks: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        # Guards the two below.
        self._condition = host.condition("raw server")
        self.accepted = 0
        self._ended = 0

    @property
    def configuration(self) -> Configuration:
        """Return a configuration that leads here, over plain HTTP."""
        return Configuration(host=f"http://127.0.0.1:{self.port}")

    def _run(self) -> None:
        for script in self._scripts:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._socks.append(sock)
            with self._condition:
                self.accepted += 1
            self._threads.append(self._host.spawn(f"raw-{self.accepted}", lambda s=script, c=sock: self._play(s, c)))

    def _play(self, script: Script, sock: socket.socket) -> None:
        # A client may hang up as soon as it has seen enough, which ends the script.
        with sock, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            script(Connection(sock))
        with self._condition:
            self._ended += 1
            self._condition.notify_all()

    def wait_for_end_of(self, count: int, deadline: float) -> None:
        """Wait until so many connections have been closed from this side."""
        with self._condition:
            while self._ended < count and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
            assert self._ended >= count

    def __enter__(self) -> Self:
        self._threads.append(self._host.spawn("raw-accept", self._run))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._socks:
            with contextlib.suppress(OSError):  # its script has ended
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            assert thread.join_until(self._host.monotonic() + 120.0)
