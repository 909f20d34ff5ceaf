# SPDX-License-Identifier: Apache-2.0
"""The answer to a client that speaks HTTP without TLS, which would else see nothing but a closed connection."""

from __future__ import annotations

import asyncio
import contextlib
import socket

# The answer of a real server.
_ANSWER = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
_PART = 4096


async def is_plain(loop: asyncio.AbstractEventLoop, sock: socket.socket, patience: float) -> bool:
    """Wait for the first byte of a connection; return True if it belongs to HTTP without TLS, after refusing the
    request.

    In that case an error response has been sent, and the socket is closed.

    Args:
        loop: The event loop.
        sock: A connected socket, which is also closed if this raises an error.
        patience: The maximum time to wait, in seconds.

    Raises:
        TimeoutError: The client sent nothing.
        OSError: The client has disconnected.
    """
    arrived = asyncio.Event()
    loop.add_reader(sock, arrived.set)
    try:
        async with asyncio.timeout(patience):
            await arrived.wait()
        speaks_plainly = sock.recv(1, socket.MSG_PEEK).isalpha()
        if speaks_plainly:
            sock.send(_ANSWER)
    except BaseException:  # also if the handshake is cancelled
        loop.remove_reader(sock)
        sock.close()
        raise
    loop.remove_reader(sock)
    if speaks_plainly:
        _read_rest(sock)
        sock.close()
    return speaks_plainly


def _read_rest(sock: socket.socket) -> None:
    """Read what has arrived, because a socket that is closed with unread bytes takes back what was sent."""
    with contextlib.suppress(OSError):
        while sock.recv(_PART):
            pass
