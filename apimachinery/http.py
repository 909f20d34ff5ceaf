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
"""The largest request body that the embedded server accepts, in bytes; a real API server has the same limit."""

VALUE_SEPARATOR = "\n"
"""Separates the values of a repeated `impersonate-…` header in `HTTPRequest.headers`: the name of a group may contain a
comma, but no header a line feed."""

# Half of a surrogate pair. Python decodes a byte that is not UTF-8 to one, and refuses to encode it again.
_UNENCODABLE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Return `text` with U+FFFD in place of each byte that was not UTF-8, so that the text can be encoded and logged.

    A real API server also accepts such bytes in headers, paths and queries, and shows them as U+FFFD.
    """
    return text if text.isascii() else _UNENCODABLE.sub("\ufffd", text)


class HTTPRequest(NamedTuple):
    """An HTTP request, decoded. The HTTP server passes all texts of a request through `storable` first.

    Attributes:
        method: The method, in upper case.
        path: The absolute path, percent-decoded, without the query.
        query: Pairs of a name and a value, percent-decoded, in the order of the URL.
        headers: The headers by name, in lower case. The values of a repeated header are joined by `, `, those of a
            repeated impersonation header by `VALUE_SEPARATOR`.
        body: The body; empty if absent. The HTTP server reads at most `BODY_LIMIT` + 1 bytes, which is enough for the
            handler to refuse a body that is too long (413).
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    body: bytes = b""


class HTTPResponse(NamedTuple):
    """A complete HTTP response.

    Attributes:
        status: The HTTP status code.
        headers: The headers by name, in lower case.
        body: The body; empty if absent.
    """

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


NO_ANSWER = HTTPResponse(0)
"""In place of an answer: the server closes the connection, so its client cannot know what became of the request."""


class Watch(Protocol):
    """A response with status 200 whose body is an open-ended sequence of lines. Each line is one watch event in JSON.

    The server calls `on_ready` (see `Handler.handle`) when there may be lines, and the reader then calls `take` to get
    them. So a slow reader never blocks the server.
    """

    headers: Mapping[str, str]
    """The response's headers, with names in lower case."""

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return the next lines, and True if the stream ends after them. Never blocks.

        If it returns fewer than `limit` lines and the stream continues, no more lines are available now. `on_ready` is
        called when there are some.

        Args:
            limit: The maximum number of lines. Each line ends with a newline, except for frames in protobuf.
        """

    def next_wake(self) -> float | None:
        """Return the seconds after which to call `take` even without `on_ready`, because a bookmark or the end may be
        due.

        None means that only `on_ready` announces lines. The result is a duration rather than a time, because reader and
        server may have different clocks.
        """

    def close(self) -> None:
        """End the watch, called by its reader. Idempotent."""


@runtime_checkable
class Upgraded(Watch, Protocol):
    """A response with status 101: a connection with messages in both directions, such as a WebSocket.

    Only requests with the header `upgrade` get this response. `take` returns the server's messages instead of lines.
    """

    protocol: str
    """The subprotocol on which client and server agreed."""

    def send(self, message: bytes) -> bool:
        """Pass a message of the client to the server. Never blocks.

        Returns:
            True if the server took the message. False if its buffer is full: send the message again after the next call
                of `on_ready`.
        """


class Handler(Protocol):
    """An object that answers HTTP requests, such as the embedded server."""

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Return the response to `request`. Never raises: an error is a response, too. Does not wait for watch events.

        Args:
            request: The request.
            on_ready: Called when a watch may have lines to take, from any thread and with no lock held. If it is None,
                a request for a watch gets a response with status 400.
        """


@runtime_checkable
class Screen(Protocol):
    """A handler that can classify a request before the HTTP server passes the request to `handle`.

    With the results, the HTTP server reads no body from a client without valid credentials, and answers slow requests
    on separate threads, so that they do not delay the short ones.
    """

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Return whether the headers have valid credentials. If not, the response does not depend on the request's
        body.
        """

    def is_heavy(self, request: HTTPRequest) -> bool:
        """Return whether `handle` may take more than a few milliseconds for `request`. This call itself takes less."""

    def calls_out(self, request: HTTPRequest) -> bool:
        """Return whether `handle` may wait for another server for `request`. This call itself does not wait."""
