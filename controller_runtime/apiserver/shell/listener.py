# SPDX-License-Identifier: Apache-2.0
"""Accepts connections, within the places that there are and the descriptors that the process may have.

`asyncio.Server` accepts without end, and logs a traceback for each connection for which no
descriptor is left; so the accepting is done here.
"""

from __future__ import annotations

import asyncio
import errno
import math
import resource
import socket
import ssl
from collections.abc import Callable

from aiohttp import web

from controller_runtime.apiserver.shell.places import Places
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

LOOPBACK = "127.0.0.1"

# Seconds that the handshake of TLS may take, and its farewell, before which a slow reader takes what is left for it.
_HANDSHAKE = 10.0
_FAREWELL = 30.0
# Connections that the system holds ready, and those accepted in one pass of the loop.
_BACKLOG = 1024
_ACCEPTED = 32
# The most connections, whatever the system allows; and the descriptors that are left for files and pipes.
_MOST = 16 * 1024
_RESERVED = 64
_LEAST = 16
# Seconds between two looks at connections whose time may be up, and without accepting once descriptors have run out.
_SWEEP = 1.0
_PAUSE = 0.1
# Seconds between two lines that tell of many connections.
_SILENCE = 60.0
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def raise_descriptor_limit() -> None:
    """Let this process have as many descriptors as the listener uses, as far as its hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST + _RESERVED
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def connection_limit() -> int:
    """The connections for which this process has descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(_LEAST, min(_MOST, soft - _RESERVED))


class Connections:
    """The connections of one server, from their acceptance to their end.

    Threads: the event loop's.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self._loop = loop
        self._places: Places[web.RequestHandler] = Places(limit)
        # Not yet connected: those whose handshake goes on, and the sockets of those for which it has yet to begin.
        self._handshakes: dict[web.RequestHandler, asyncio.Task[None]] = {}
        self._sockets: dict[web.RequestHandler, socket.socket] = {}
        self._transports: dict[web.RequestHandler, asyncio.Transport] = {}
        self._sweeper = loop.call_later(_SWEEP, self._sweep)
        self._told_at = -math.inf

    def take(self, sock: socket.socket, protocol: web.RequestHandler, context: ssl.SSLContext | None) -> None:
        """Connect an accepted socket."""
        self._places.enter(protocol, self._loop.time())
        self._sockets[protocol] = sock
        self._handshakes[protocol] = self._loop.create_task(self._connect(protocol, context))

    def is_full(self) -> bool:
        """Whether another connection may come only in the place of one."""
        return self._places.is_full()

    def make_room(self, *, urgent: bool = False) -> bool:
        """Close the connection that is missed least; False if all are needed, or too young unless it is `urgent`."""
        leaving = self._places.spare(self._loop.time(), urgent=urgent)
        self._tell()
        if leaving is not None:
            self._abort(leaving)
        return leaving is not None

    def made(self, protocol: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Note that a handshake is done."""
        self._transports[protocol] = transport

    def lost(self, protocol: web.RequestHandler) -> None:
        """Note that a connection has ended."""
        self._transports.pop(protocol, None)
        self._places.leave(protocol)

    def begin(self, protocol: web.RequestHandler, *, known: bool) -> None:
        """Note that a request has come."""
        self._places.begin(protocol, self._loop.time(), known=known)

    def end(self, protocol: web.RequestHandler) -> None:
        """Note that a request has been answered."""
        self._places.end(protocol, self._loop.time())

    def close(self) -> None:
        """End all handshakes, and look after nobody any more."""
        self._sweeper.cancel()
        for protocol in (*self._sockets, *self._handshakes):
            self._abort(protocol)

    def abort(self) -> None:
        """End all connections at once."""
        for transport in tuple(self._transports.values()):
            transport.abort()  # TLS would wait for the other side's farewell, which may never come

    async def _connect(self, protocol: web.RequestHandler, context: ssl.SSLContext | None) -> None:
        sock = self._sockets.pop(protocol, None)
        if sock is None:
            return  # it had to leave before it began
        handshake, farewell = (_HANDSHAKE, _FAREWELL) if context else (None, None)
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol,
                sock,
                ssl=context,
                ssl_handshake_timeout=handshake,
                ssl_shutdown_timeout=farewell,
            )
        except OSError as error:  # among them what is no TLS, and silence
            log.debug("no connection", error=error)
        finally:
            del self._handshakes[protocol]
            if protocol not in self._transports:
                self.lost(protocol)

    def _abort(self, protocol: web.RequestHandler) -> None:
        self._places.leave(protocol)  # now: it ends only in a later pass of the loop, and is not to be chosen again
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

    def _tell(self) -> None:
        now = self._loop.time()
        if now >= self._told_at + _SILENCE:
            self._told_at = now
            log.warning("many connections, idle ones are closed and new ones wait", connections=len(self._places))


class Listener:
    """Accepts connections on loopback.

    Args:
        sock: Bound, and listening.

    Threads: the event loop's.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._loop = asyncio.get_running_loop()
        self._resuming: asyncio.TimerHandle | None = None
        self._take: Callable[[socket.socket], None]
        self._connections: Connections

    @classmethod
    def on_loopback(cls, port: int) -> Listener:
        """One on `port`; the system picks it for 0.

        Raises:
            OSError: The port is taken, or not allowed.
        """
        return cls(socket.create_server((LOOPBACK, port), backlog=_BACKLOG))

    def accept(
        self, connections: Connections, factory: Callable[[], web.RequestHandler], context: ssl.SSLContext | None
    ) -> int:
        """Begin to accept; the port.

        Args:
            connections: Takes them.
            factory: Makes the protocol of one.
            context: How to encrypt; None is plain.
        """
        self._socket.setblocking(False)
        self._take = lambda sock: connections.take(sock, factory(), context)
        self._connections = connections
        self._resume()
        port: int = self._socket.getsockname()[1]
        return port

    def close(self) -> None:
        """Accept no more. Idempotent."""
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
                    return  # it is not sure that another one waits
                if not self._connections.make_room():
                    self._rest()
                    return
            try:
                sock, _address = self._socket.accept()
            except OSError as error:  # none waits any more, or the one that waited has gone
                if error.errno in _EXHAUSTED:
                    self._connections.make_room(urgent=True)
                    self._rest()
                return
            sock.setblocking(False)
            self._take(sock)

    def _rest(self) -> None:
        """Accept none for a moment; the system keeps those that come meanwhile."""
        self._loop.remove_reader(self._socket)
        self._resuming = self._loop.call_later(_PAUSE, self._resume)
