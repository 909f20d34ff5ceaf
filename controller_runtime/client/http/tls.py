# SPDX-License-Identifier: Apache-2.0
"""TLS over memory: bytes in, bytes out, no socket.

`ssl.SSLSocket` makes two system calls for each record that it reads. A watch of a real API server has two or three
records for each event, so these calls were half of the cost of filling a cache. Here the connection receives as much as
has come with one call, and this class decrypts all records in it.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator

_RECORD = 16 * 1024  # bytes of the longest record, so one call reads one whole
_PIECE = 256 * 1024  # bytes that are encrypted at once, so that a large body does not exist twice


class TLS:
    """The client's side of a TLS connection, over memory: it takes and returns bytes, and has no socket.

    Args:
        context: The certificates to trust and to present.
        server_name: The name that the server's certificate must have.

    Attributes:
        is_ended: Whether the server has announced that it sends no more.
        has_outgoing: Whether received bytes need an answer, which `outgoing` returns.

    Raises:
        ValueError: `server_name` is not a valid name.

    Threads: one at a time.
    """

    __slots__ = ("_incoming", "_outgoing", "_state", "has_outgoing", "is_ended")

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._state = context.wrap_bio(self._incoming, self._outgoing, server_hostname=_encoded(server_name))
        self.is_ended = self.has_outgoing = False

    def is_agreed(self, received: memoryview | bytes = b"") -> bool:
        """Continue the handshake with the received bytes; return whether it is complete.

        Then send the bytes of `outgoing`.

        Raises:
            ssl.SSLError: The handshake failed, or the server is not trusted.
        """
        self._incoming.write(received)
        try:
            self._state.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def outgoing(self) -> bytes:
        """Return the bytes that must be sent now; empty if there are none."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def encrypted(self, data: bytes) -> Iterator[bytes]:
        """Yield `data` in encrypted pieces, in order. Send each piece before asking for the next."""
        view = memoryview(data)
        while view:
            view = view[self._state.write(view[:_PIECE]) :]
            yield self._outgoing.read()

    def decrypted(self, received: memoryview) -> bytes:
        """Decrypt received bytes, and return the data of all complete records; empty if there is none.

        The server may want an answer to a record without data: if `has_outgoing`, send the bytes of `outgoing`.

        Raises:
            ssl.SSLError: A record does not belong to this connection.
        """
        self._incoming.write(received)
        parts: list[bytes] = []
        try:
            while self._incoming.pending:
                part = self._state.read(_RECORD)
                if not part:
                    self.is_ended = True
                    break
                parts.append(part)
        except ssl.SSLWantReadError:
            pass
        self.has_outgoing = self._outgoing.pending > 0
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _encoded(name: str) -> str | bytes:
    """Return a name in a form that `ssl` need not encode: its tables for international names take half a MiB."""
    return name.encode() if name.isascii() else name
