# SPDX-License-Identifier: Apache-2.0
"""HTTP requests and responses as values, used by the client's transports and by the embedded server.

Because both use the same values, a request can go over TLS or straight to the server in the same
process, and neither side sees a difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

BODY_LIMIT = 3 * 1024 * 1024
"""The largest request body that the embedded server accepts, in bytes; a real server has the same limit."""

VALUE_SEPARATOR = "\n"
"""Separates the values of a repeated `impersonate-…` header in `HTTPRequest.headers`: the name of a group may contain a
comma, but no header a line feed."""

# Half of a surrogate pair. Python decodes a byte that is not UTF-8 to one, and refuses to encode it again.
_UNENCODABLE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Return `text` with U+FFFD in place of each byte that was not UTF-8, so that it can be encoded and logged.

    A real server accepts such bytes in headers, paths and queries, and shows them in the same way.
    """
    return text if text.isascii() else _UNENCODABLE.sub("\ufffd", text)


class HTTPRequest(NamedTuple):
    """A request, decoded. The HTTP server passes its texts through `storable` first.

    Attributes:
        method: The method, in upper case.
        path: The absolute path, percent-decoded, without the query.
        query: Pairs of a name and a value, percent-decoded, in the order of the URL.
        headers: The headers, with names in lower case. The values of a repeated one are joined by `, `, or by
            `VALUE_SEPARATOR` if it is one of impersonation.
        body: The body; empty if absent. The HTTP server reads at most `BODY_LIMIT` + 1 bytes, which
            is enough for the handler to refuse a body that is too long (413).
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    body: bytes = b""


class HTTPResponse(NamedTuple):
    """A complete response.

    Attributes:
        status: The HTTP status code.
        headers: The headers, with names in lower case.
        body: The body; empty if absent.
    """

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


NO_ANSWER = HTTPResponse(0)
"""In place of an answer: the server closes the connection, so its client cannot know what became of the request."""


class Watch(Protocol):
    """A response with status 200 whose body is an open-ended series of lines, each with one watch event in JSON.

    The reader pulls: the server calls `on_ready` (see `Handler.handle`) when there may be lines, and the
    reader then calls `take`. So the server never blocks on a slow reader.
    """

    headers: Mapping[str, str]
    """The response's headers, with names in lower case."""

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return the next lines, and whether the stream ends after them. Never blocks.

        If there are fewer than `limit` and the stream goes on, there are no more for now; `on_ready` is
        called when there are.

        Args:
            limit: The most lines to return. Each ends with a newline, except for frames in protobuf.
        """

    def next_wake(self) -> float | None:
        """Return the seconds after which to call `take` even without `on_ready`: a bookmark or the end may be due.

        None means to wait for `on_ready`. The result is a duration rather than a point in time, because the
        reader's clock may be another one than the server's.
        """

    def close(self) -> None:
        """End the watch; its reader calls this when it wants no more. Idempotent."""


@runtime_checkable
class Upgraded(Watch, Protocol):
    """A response with status 101: a connection with messages in both directions, as a WebSocket has.

    `take` returns the messages of the server instead of lines. It is an answer to requests with the header `upgrade`.
    """

    protocol: str
    """The subprotocol on which client and server agreed."""

    def send(self, message: bytes) -> bool:
        """Hand a message of the client to the server. Never blocks.

        Returns:
            False if the server has no room for it: offer it again after the next call of `on_ready`.
        """


class Handler(Protocol):
    """Answers requests, as the embedded server does. A call returns when the response is known."""

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Return the response to `request`. It never raises: a failure is a response, too. It does not wait for events.

        Args:
            request: The request.
            on_ready: Called when a watch may have lines to take, from any thread and with no lock held.
                Without it, a request for a watch is refused with 400.
        """


@runtime_checkable
class Screen(Protocol):
    """A handler that can tell the HTTP server about a request before that request is passed to `handle`.

    The HTTP server then reads no body from a client without the right credentials, and answers requests that may take
    long on other threads than its own, so that they do not delay the short ones.
    """

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Return whether the headers have the right credentials. If not, the response does not depend on the body."""

    def is_heavy(self, request: HTTPRequest) -> bool:
        """Return whether `handle` may take more than a few milliseconds; the judgement itself takes less."""

    def calls_out(self, request: HTTPRequest) -> bool:
        """Return whether `handle` may wait for another server; the judgement itself waits for nothing."""
