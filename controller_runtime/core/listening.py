# SPDX-License-Identifier: Apache-2.0
"""Sockets that listen at an address of an option."""

from __future__ import annotations

import errno
import socket

from apimachinery.errors import UsageError

_EVERY_INTERFACE = ("", "0.0.0.0", "[::]", "::")  # the addresses that are bound, but cannot be called


def bind(address: str) -> socket.socket:
    """Return a listening socket for `HOST:PORT`, or for `:PORT` on every interface. Port 0 selects any free port.

    Raises:
        UsageError: The address is malformed or cannot be bound.
    """
    name, colon, port = address.rpartition(":")
    name = name.removeprefix("[").removesuffix("]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"cannot serve on {address!r}: give HOST:PORT such as 127.0.0.1:8080, or 0 to serve nothing")
    try:
        if not name and socket.has_dualstack_ipv6():
            return socket.create_server(("", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
        family = socket.AF_INET6 if ":" in name else socket.AF_INET
        return socket.create_server((name, int(port)), family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).lower().partition(" (")[0]
        why = "it is in use" if error.errno == errno.EADDRINUSE else reason
        raise UsageError(f"cannot serve on {address}: {why}; give another address, or 0 to serve nothing") from error


def url_of(address: str, port: int) -> str:
    """Return the URL, such as `https://127.0.0.1:9443`, of a server on this machine that listens at `address`.

    Args:
        address: The address that was given to `bind`.
        port: The port that the socket got.
    """
    host = address.rpartition(":")[0]
    return f"https://{'127.0.0.1' if host in _EVERY_INTERFACE else host}:{port}"
