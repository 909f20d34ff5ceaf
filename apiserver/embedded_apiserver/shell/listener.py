# SPDX-License-Identifier: Apache-2.0
"""Accepts connections, within limits that follow from the file descriptors of the process.

`asyncio.Server` has no limit, and logs a traceback for each connection for which no descriptor is left. This
module accepts in its place: at the limit it closes idle connections, or lets new ones wait in the backlog.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import resource
import socket
import ssl
from collections.abc import Callable

from aiohttp.web_protocol import RequestHandler

from apimachinery.log import get_logger
from embedded_apiserver.shell.address import LOOPBACK
from embedded_apiserver.shell.places import Places
from embedded_apiserver.shell.plain_http import is_plain

log = get_logger(__name__)

# Seconds until a TLS handshake must be done, and a TLS shutdown. The latter is longer, because a slow reader must
# first receive the rest of its answer.
_HANDSHAKE = 10.0
_TLS_SHUTDOWN = 30.0
# Connections that the system may hold until they are accepted. Many clients reconnect at once after a restart.
_BACKLOG = 1024
# Connections accepted in one pass of the event loop, so that a burst of them does not hold up requests.
_ACCEPTED = 32
# The most connections, whatever the system allows, and the fewest, even if the limit of descriptors is lower.
_MOST = 16 * 1024
_LEAST = 16
# Descriptors that are left for files and pipes.
_RESERVED = 64
# Seconds between two searches for connections that have timed out.
_SWEEP = 1.0
# Seconds without accepting when there is no descriptor or no place: otherwise the loop would spin on a readable socket.
_PAUSE = 0.1
# Seconds between two warnings about too many connections, so that a flood of them does not fill the log.
_WARNING_INTERVAL = 60.0
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def raise_descriptor_limit() -> None:
    """Raise this process's soft limit of file descriptors to the number that the listener can use.

    The hard limit is not exceeded.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST + _RESERVED
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # some systems call a limit infinite, and refuse large ones
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def connection_limit() -> int:
    """Return the maximum number of connections for this process's limit of file descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(_LEAST, min(_MOST, soft - _RESERVED))


def reserve(port: int, bind: str = LOOPBACK) -> socket.socket:
    """Return a socket bound to a port of the address `bind`. It does not listen, so connections are refused.

    Raises:
        OSError: The port is in use or not allowed, or the address does not belong to this machine.
    """
    sock = socket.socket(socket.AF_INET6 if ":" in bind else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else a port is taken for a minute after its use
        sock.bind((bind, port))
    except OSError:
        sock.close()
        raise
    return sock


class Connections:
    """The connections of one server.

    Threads: only the event loop's.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self._loop = loop
        self._places: Places[RequestHandler] = Places(limit)
        # Connections without a transport yet: those in their handshake, and the sockets of those before it.
        self._handshakes: dict[RequestHandler, asyncio.Task[None]] = {}
        self._sockets: dict[RequestHandler, socket.socket] = {}
        self._transports: dict[RequestHandler, asyncio.Transport] = {}
        self._sweeper = loop.call_later(_SWEEP, self._sweep)
        self._warned_at = -math.inf

    def take(self, sock: socket.socket, protocol: RequestHandler, context: ssl.SSLContext | None) -> None:
        """Begin a connection on an accepted socket; `context` is the TLS context, or None for plain HTTP."""
        self._places.enter(protocol, self._loop.time())
        self._sockets[protocol] = sock
        self._handshakes[protocol] = self._loop.create_task(self._connect(protocol, context))

    def is_full(self) -> bool:
        """Return whether a further connection is possible only if another one is closed."""
        return self._places.is_full()

    def make_room(self, *, urgent: bool = False) -> bool:
        """Close the least needed connection, and return whether one was closed.

        Connections with a request in progress, and very new ones, are not closed. If `urgent` is True, because the
        process has no file descriptor left, new connections may be closed as well.
        """
        closing = self._places.to_close(self._loop.time(), urgent=urgent)
        self._warn()
        if closing is not None:
            self._abort(closing)
        return closing is not None

    def made(self, protocol: RequestHandler, transport: asyncio.Transport) -> None:
        """Record that a connection has been established."""
        self._transports[protocol] = transport

    def lost(self, protocol: RequestHandler) -> None:
        """Record that a connection has ended."""
        self._transports.pop(protocol, None)
        self._places.leave(protocol)

    def begin(self, protocol: RequestHandler, *, known: bool) -> None:
        """Record that a request has arrived; `known` is True if it had a valid token."""
        self._places.begin(protocol, self._loop.time(), known=known)

    def end(self, protocol: RequestHandler) -> None:
        """Record that a request has been answered."""
        self._places.end(protocol, self._loop.time())

    def close(self) -> None:
        """Abort all handshakes and stop the timeouts. Established connections stay open until `abort`."""
        self._sweeper.cancel()
        for protocol in (*self._sockets, *self._handshakes):
            self._abort(protocol)

    def abort_busy(self) -> None:
        """Abort the connections with a request in progress."""
        for protocol in self._places.busy():
            self._abort(protocol)

    def abort(self) -> None:
        """Abort all established connections."""
        for transport in tuple(self._transports.values()):
            transport.abort()  # `close` would wait for the client's part of the TLS shutdown, which may never come

    async def _connect(self, protocol: RequestHandler, context: ssl.SSLContext | None) -> None:
        sock = self._sockets.pop(protocol, None)
        if sock is None:
            return  # closed before the handshake began
        handshake, shutdown = (_HANDSHAKE, _TLS_SHUTDOWN) if context else (None, None)
        try:
            if context and await is_plain(self._loop, sock, _HANDSHAKE):
                return
            await self._loop.connect_accepted_socket(
                lambda: protocol,
                sock,
                ssl=context,
                ssl_handshake_timeout=handshake,
                ssl_shutdown_timeout=shutdown,
            )
        except OSError as error:  # includes TLS errors and the timeout of the handshake
            log.debug("no connection", error=error)
        finally:
            del self._handshakes[protocol]
            if protocol not in self._transports:
                self.lost(protocol)

    def _abort(self, protocol: RequestHandler) -> None:
        # Here and not in `lost`, which comes in a later pass of the loop: until then it could be chosen again.
        self._places.leave(protocol)
        if (sock := self._sockets.pop(protocol, None)) is not None:
            sock.close()
        elif (transport := self._transports.get(protocol)) is not None:
            transport.abort()
        elif (handshake := self._handshakes.get(protocol)) is not None:
            handshake.cancel()

    def _sweep(self) -> None:
        for protocol in tuple(self._places.overdue(self._loop.time())):
            self._abort(protocol)
        self._sweeper = self._loop.call_later(_SWEEP, self._sweep)

    def _warn(self) -> None:
        now = self._loop.time()
        if now >= self._warned_at + _WARNING_INTERVAL:
            self._warned_at = now
            log.warning("many connections, idle ones are closed and new ones wait", connections=len(self._places))


class Listener:
    """Accepts connections on a socket.

    Args:
        sock: A bound socket, which does not listen yet.

    Threads: only the event loop's.
    """

    def __init__(self, sock: socket.socket) -> None:
        sock.listen(_BACKLOG)
        self._socket = sock
        self._loop = asyncio.get_running_loop()
        self._resuming: asyncio.TimerHandle | None = None
        self._take: Callable[[socket.socket], None]
        self._connections: Connections

    def accept(
        self, connections: Connections, factory: Callable[[], RequestHandler], context: ssl.SSLContext | None
    ) -> int:
        """Start to accept connections, and return the port.

        Args:
            connections: Gets the accepted connections.
            factory: A function that returns the protocol for one connection.
            context: The TLS context; None for plain HTTP.
        """
        self._socket.setblocking(False)
        self._take = lambda sock: connections.take(sock, factory(), context)
        self._connections = connections
        self._resume()
        port: int = self._socket.getsockname()[1]
        return port

    def close(self) -> None:
        """Stop accepting connections. Idempotent."""
        if self._resuming is not None:
            self._resuming.cancel()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()

    def _resume(self) -> None:
        self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        for count in range(_ACCEPTED):
            if self._connections.is_full():
                if count:
                    return  # none is closed unless another one waits; if one does, the loop calls this again
                if not self._connections.make_room():
                    self._pause()
                    return
            try:
                sock, _address = self._socket.accept()
            except OSError as error:  # no further connection waits, or its client has closed it
                if error.errno in _EXHAUSTED:
                    self._connections.make_room(urgent=True)
                    self._pause()
                return
            sock.setblocking(False)
            self._take(sock)

    def _pause(self) -> None:
        """Stop accepting for `_PAUSE` seconds. New connections wait in the system's backlog."""
        self._loop.remove_reader(self._socket)
        self._resuming = self._loop.call_later(_PAUSE, self._resume)
