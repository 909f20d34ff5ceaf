# SPDX-License-Identifier: Apache-2.0
"""One HTTP exchange as values: what a transport carries and the embedded server answers.

Both sides speak these, so a request can go over TLS or straight into the server's
core and neither side can tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

BODY_LIMIT = 3 * 1024 * 1024
"""Bytes of a request's body that a server accepts; a real one has the same limit."""

# Half of a surrogate pair: Python's stand-in for a byte that is no UTF-8, and no text that could be encoded.
_UNENCODABLE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Return `text` with U+FFFD for each byte that was no UTF-8, so that it can be encoded, logged and stored.

    A real server accepts such bytes in headers, paths and queries, and shows them in the same way.
    """
    return text if text.isascii() else _UNENCODABLE.sub("\ufffd", text)


class HTTPRequest(NamedTuple):
    """A request as it stands on the wire; a server's shell passes on `storable` text alone.

    Attributes:
        method: Upper case.
        path: Absolute, percent-decoded, without the query.
        query: Name and value pairs, percent-decoded, in order.
        headers: Names in lower case.
        body: The bytes, empty for none. A server's shell reads at most `BODY_LIMIT` and one
            byte of it, so that the handler can refuse what is longer (413).
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    body: bytes = b""


class HTTPResponse(NamedTuple):
    """An answer, whole. Header names are in lower case."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Watch(Protocol):
    """An answer that goes on: status 200 and lines of JSON, until it is closed.

    The server never blocks and never calls while it holds a lock: it says `on_ready`
    when there may be something to take, and whoever reads takes it.
    """

    headers: Mapping[str, str]

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """The next lines, each ended by a newline, and whether the stream is over after them.

        Never blocks; fewer than `limit` and False means there is no more for now: `on_ready` tells when there is.
        """

    def next_wake(self) -> float | None:
        """Seconds from now until one should `take` again even without `on_ready`: a bookmark is due, the time is up.

        None means not before `on_ready`. A span, not an instant, because the reader may
        live on another host, with another clock.
        """

    def close(self) -> None:
        """The reader is gone. Idempotent."""


class Handler(Protocol):
    """The synchronous core of a server."""

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Answer `request`. Never raises, never blocks for long.

        Args:
            request: What was asked.
            on_ready: For a watch: called from any thread, with no lock held, when
                there may be lines to take. Without it a watch is refused with 400.
        """


@runtime_checkable
class Screen(Protocol):
    """What some handlers can tell of a request before they answer it.

    A shell that finds its handler to be one reads no body of a stranger, and leaves what takes long to
    other threads than its own.
    """

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether these headers are a known client's; the answer to any other does not depend on its body."""

    def is_heavy(self, request: HTTPRequest) -> bool:
        """Whether `handle` may take more than a few milliseconds. Itself, it takes none."""
