# SPDX-License-Identifier: Apache-2.0
"""Look-ups of host names with a deadline.

The system's resolver accepts no deadline. So it is called on a thread of its own, once for all threads that
wait for the same name. That thread ends with the resolver's call, or with the process.
"""

from __future__ import annotations

import socket
from typing import Any

from apimachinery.host import Host
from controller_runtime.client.http.connection import Connection
from controller_runtime.client.http.inquiry import Inquiry

Address = tuple[int, int, int, str, tuple[Any, ...]]
"""A result of `getaddrinfo`: family, kind, protocol, canonical name, address."""


class Lookup:
    """Resolves host names to addresses, with a deadline.

    Args:
        host: The source of time, threads and the lock.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the latest look-up of each host and port.
        self._lock = host.lock("look-ups")
        self._inquiries: dict[tuple[str, int], Inquiry[list[Address]]] = {}

    def addresses(self, address: tuple[str, int], connection: Connection) -> list[Address]:
        """Return the addresses of a host and port; wait at most until the deadline of `connection`.

        Raises:
            OSError: The name has no addresses, the deadline passed, or the connection was shut down.
        """
        try:
            return _resolved(address, socket.AI_NUMERICHOST)
        except (socket.gaierror, UnicodeError):
            return self._looked_up(address, connection)

    def give_up(self) -> None:
        """Wake all waiting threads, whose look-ups fail.

        Shut down the connections before; otherwise a thread that has not begun to wait begins another look-up.
        """
        with self._lock:
            pending, self._inquiries = self._inquiries, {}
        for inquiry in pending.values():
            inquiry.give_up()

    def _looked_up(self, address: tuple[str, int], connection: Connection) -> list[Address]:
        inquiry = self._inquiry(address)
        if connection.is_shut:  # `give_up` may have been called before our look-up existed
            raise ConnectionAbortedError
        if not inquiry.is_over_by(connection.deadline):
            raise TimeoutError(f"the look-up of {address[0]} timed out")
        match inquiry.failure:
            case None:
                return inquiry.answer or []
            case UnicodeError():
                reason = "it is not a valid host name"
            case OSError(strerror=str(reason)):
                pass
            case failure:
                reason = str(failure)
        raise OSError(f"{address[0]} cannot be looked up: {reason}")

    def _inquiry(self, address: tuple[str, int]) -> Inquiry[list[Address]]:
        with self._lock:
            inquiry = self._inquiries.get(address)
            if inquiry is None or inquiry.is_over:
                inquiry = Inquiry(self._host, "look-up", lambda: _resolved(address), daemon=True)
                self._inquiries[address] = inquiry
            return inquiry


def _resolved(address: tuple[str, int], flags: int = 0) -> list[Address]:
    name, port = address
    # A numeric address as bytes is not encoded by the rules for international names, whose tables take half a MiB.
    host = name.encode() if flags & socket.AI_NUMERICHOST and name.isascii() else name
    return [*socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)]
