# SPDX-License-Identifier: Apache-2.0
"""Connections whose first request has not come yet: TLS handshakes and heads, without a thread for any of them.

Any pod that reaches the port can open connections. Those that say nothing have slots of their own, in which the oldest
makes way, and so have those in a handshake: neither takes a place of a connection that has sent a request.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
from collections.abc import Callable
from functools import partial

from apimachinery.host import Host
from controller_runtime.core.slots import Slots

MOST_SILENT = 64
"""Connections at a time that have sent nothing; for one more the oldest is dropped."""

GRACE = 0.1
"""Seconds that a connection has for its first byte before it may be dropped for a new one, which waits meanwhile."""

MOST_BEGUN = 128
"""Connections at a time whose handshake or first head has begun; for one more the oldest is dropped."""

_CHUNK = 16 * 1024

Arrived = Callable[[ssl.SSLSocket, bytearray], None]
"""Takes over a connection, with the bytes of its first request that have come: its whole head, or more than a head."""


class Arrivals:
    """The connections before their first request.

    Args:
        host: Its clock.
        selector: Calls `advance` of each; the data of a key is a function without arguments.
        head_limit: Bytes of a head; a connection that has sent more is passed on to be refused.
        patience: Seconds until the head must have come.
        arrived: Takes over a connection whose head has come.

    Threads: one.
    """

    def __init__(
        self, host: Host, selector: selectors.BaseSelector, head_limit: int, patience: float, arrived: Arrived
    ) -> None:
        self._host = host
        self._selector = selector
        self._head_limit = head_limit
        self._patience = patience
        self._arrived = arrived
        self._silent = Slots(MOST_SILENT, GRACE)
        self._begun = Slots(MOST_BEGUN)
        # Each connection with its end, the monotonic second at which it is dropped; oldest first.
        self._all: dict[_Arriving, float] = {}

    def wait_for_place(self) -> float:
        """Return the seconds until `enter` may be called; zero if at once."""
        return self._silent.wait_for_one(self._host.monotonic())

    def next_end(self) -> float | None:
        """Return the seconds until the oldest connection is dropped; None if there is none."""
        return next((max(0.0, end - self._host.monotonic()) for end in self._all.values()), None)

    def enter(self, accepted: socket.socket, context: ssl.SSLContext) -> None:
        """Take an accepted connection."""
        accepted.setblocking(False)
        try:
            secured = context.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)
        except OSError:  # the peer has gone
            accepted.close()
            return
        one = _Arriving(secured)
        one.drop = partial(self._drop, one)
        now = self._host.monotonic()
        self._silent.take(one.drop, now)
        self._all[one] = now + self._patience
        self._selector.register(secured, selectors.EVENT_READ, partial(self._advance, one))

    def drop_late(self) -> None:
        """Drop the connections whose time is over."""
        now = self._host.monotonic()
        for one in [one for one, end in self._all.items() if end <= now]:
            one.drop()

    def close(self) -> None:
        """Drop all."""
        for one in [*self._all]:
            one.drop()

    def _advance(self, one: _Arriving) -> None:
        if one not in self._all:  # dropped for another since the selector said that it is ready
            return
        if not one.has_begun:
            one.has_begun = True
            self._silent.give_back(one.drop)
            self._begun.take(one.drop, self._host.monotonic())
        try:
            has_come = one.advance(self._head_limit)
        except ssl.SSLWantReadError:
            self._selector.modify(one.secured, selectors.EVENT_READ, partial(self._advance, one))
        except ssl.SSLWantWriteError:
            self._selector.modify(one.secured, selectors.EVENT_WRITE, partial(self._advance, one))
        except OSError:  # ssl's errors are OSErrors, too; the peer notices by itself
            one.drop()
        else:
            if not has_come:
                one.drop()
                return
            self._forget(one)
            self._arrived(one.secured, one.buffer)

    def _forget(self, one: _Arriving) -> None:
        self._silent.give_back(one.drop)
        self._begun.give_back(one.drop)
        del self._all[one]
        self._selector.unregister(one.secured)

    def _drop(self, one: _Arriving) -> None:
        self._forget(one)
        with contextlib.suppress(OSError):
            one.secured.close()


class _Arriving:
    """One connection. Threads: one."""

    drop: Callable[[], None]

    def __init__(self, secured: ssl.SSLSocket) -> None:
        self.secured = secured
        self.buffer = bytearray()
        self.has_begun = False
        self._is_secured = False

    def advance(self, limit: int) -> bool:
        """Read on, and return True once the head has come, or more than `limit` bytes; False if the peer has ended.

        Raises:
            ssl.SSLWantReadError: It must wait; SSLWantWriteError as well.
            OSError: The connection or its handshake has failed.
        """
        if not self._is_secured:
            self.secured.do_handshake()
            self._is_secured = True
            self.secured.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while b"\r\n\r\n" not in self.buffer and len(self.buffer) <= limit:
            data = self.secured.recv(_CHUNK)
            if not data:
                return False
            self.buffer += data
        return True
