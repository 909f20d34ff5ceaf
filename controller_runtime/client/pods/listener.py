# SPDX-License-Identifier: Apache-2.0
"""A port of this machine whose connections are forwarded to a port of a pod."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Protocol, Self

from apimachinery.errors import ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.log import get_logger

log = get_logger(__name__)

_PIECE = 32 * 1024


class Remote(Protocol):
    """A connection to the pod; see `PortConnection`."""

    def sendall(self, data: bytes) -> None:
        """Send all of `data`."""

    def recv(self, size: int) -> bytes:
        """Wait for data, and return at most `size` bytes; empty at the end."""

    def close(self) -> None:
        """Close the connection. Idempotent."""


class PortListener:
    """Accepts connections on this machine; a context manager that closes it.

    A connection that cannot be forwarded is closed, and the error is logged. Each connection has two threads.

    Args:
        host: The source of threads; it must be the real machine, not a simulation.
        connect: Opens a connection to the pod.
        port: The port on this machine; 0 lets the system choose one.
        address: The address on this machine.

    Attributes:
        address: The address and the actual port.

    Raises:
        OSError: The port is taken, or not allowed.

    Threads: any.
    """

    def __init__(self, host: Host, connect: Callable[[], Remote], port: int, address: str) -> None:
        self._host, self._connect = host, connect
        self._socket = socket.create_server((address, port))
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        # Guards the flag and the connections.
        self._lock = host.lock("port listener")
        self._is_closed = False
        self._open: dict[socket.socket, Remote] = {}
        self._thread = host.spawn(f"port {self.address[1]}", self._accept, daemon=True)

    @property
    def port(self) -> int:
        """The port on this machine."""
        return self.address[1]

    def close(self) -> None:
        """Accept no more connections, and close those that are open. Idempotent."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
            connections = [*self._open.items()]
        if was_closed:
            return
        with contextlib.suppress(OSError):  # wakes the thread that accepts, on every system
            socket.create_connection(self.address, timeout=1).close()
        for local, remote in connections:
            _end(local, remote)
        self._thread.join_until(None)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            local, _ = self._socket.accept()
            with self._lock:
                is_closed = self._is_closed
            if is_closed:
                local.close()
                return
            self._host.spawn(f"port {self.port} in", partial(self._forward, local), daemon=True)

    def _forward(self, local: socket.socket) -> None:
        """Forward what comes from the pod, and begin to forward what goes there."""
        with local:
            try:
                remote = self._connect()
            except ControllerRuntimeError as error:
                log.warning("connection not forwarded", port=self.port, error=error)
                return
            with self._lock:
                is_closed = self._is_closed
                if not is_closed:
                    self._open[local] = remote
            sending = None
            if not is_closed:
                sending = self._host.spawn(f"port {self.port} out", partial(_copy_out, local, remote), daemon=True)
            try:
                while not is_closed and (data := remote.recv(_PIECE)):
                    local.sendall(data)
            except (ControllerRuntimeError, OSError) as error:
                log.warning("forwarded connection ended", port=self.port, error=error)
            _end(local, remote)
            if sending is not None:
                sending.join_until(None)
            with self._lock:
                self._open.pop(local, None)


def _copy_out(local: socket.socket, remote: Remote) -> None:
    try:
        while data := local.recv(_PIECE):
            remote.sendall(data)
    except (ControllerRuntimeError, OSError):
        pass  # the other thread finds the reason
    remote.close()


def _end(local: socket.socket, remote: Remote) -> None:
    remote.close()
    with contextlib.suppress(OSError):  # it may have ended by itself
        local.shutdown(socket.SHUT_RDWR)
