# SPDX-License-Identifier: Apache-2.0
"""The interface of transports: the only way in which requests leave the process.

Every transport guarantees: a write that the server may have carried out is never sent again without the caller's
knowledge; nothing waits without a deadline; deadlines are absolute monotonic seconds of the caller's host.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest, HTTPResponse

_NO_MESSAGES = "this stream was not upgraded"


def is_upgrade(request: HTTPRequest) -> bool:
    """Return whether a request asks for an upgrade to WebSocket, as exec does. Such a GET does not count as a read."""
    return "upgrade" in request.headers


class Stream(Protocol):
    """A streamed answer; a context manager that closes it.

    If a request with the header `upgrade` was answered with 101, the stream has messages in both directions, as a
    WebSocket: use `receive` and `send` then, not `read`.

    Threads: `read` or `receive` from one, `send` from one, `close` from any.
    """

    response: HTTPResponse
    """Status and headers; the body only if the status is neither 200 nor 101."""
    linger: float = 0.0
    """Seconds for which a `read` that finds no line may sleep first, so that it returns more lines at once: a wake-up
    costs more than a line. A stream may ignore it."""
    is_bulk: bool = False
    """Whether many lines are about to come, as in a streamed list: a `read` may then wait some milliseconds and return
    more of them. A stream may ignore it."""
    is_text: bool = False
    """Whether the lines are those of a text, such as a log. Then empty lines are returned, and so is the text after the
    last newline once the stream has ended cleanly.
    """

    def read(self, deadline: float) -> list[bytes] | None:
        """Return the next complete lines, at least one, without their newlines; None when the stream has ended.

        The stream has ended if the server ended it cleanly, or if `close` was called.

        Args:
            deadline: The time, in monotonic seconds, by which a complete line must come. Parts of a line do not count.

        Raises:
            StreamIdle: The deadline passed without a complete line. The stream is closed.
            ConnectionLost: The stream was cut, inside a line or between two.
        """

    def receive(self, deadline: float) -> list[bytes] | None:
        """Return the messages that have come; an empty list at `deadline`; None when the connection has ended.

        Unlike `read`, it leaves the connection open at the deadline, which is in monotonic seconds.

        Raises:
            ConnectionLost: The connection was cut, not ended by the server.
        """
        raise UsageError(_NO_MESSAGES)

    def send(self, message: bytes, deadline: float) -> None:
        """Send a message. If this raises, a part of the message may have been sent.

        Raises:
            ConnectionLost: The connection has ended or was cut, or the server did not take the message by `deadline`.
        """
        raise UsageError(_NO_MESSAGES)

    def close(self) -> None:
        """Close the stream, and wake a blocked `read` or `receive`, which returns None. Idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


class Transport(Protocol):
    """Carries requests to one API server. Its `str()` is the server's address. Threads: any."""

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """Send a request and return the answer, which may have any HTTP status. `deadline` is in monotonic seconds.

        Raises:
            ConnectionLost: No complete answer came by `deadline`. The server may still have carried out a write.
        """

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """Send a request and return its answer as a stream, once the headers have come.

        `deadline` is in monotonic seconds.

        Raises:
            ConnectionLost: No headers came by `deadline`.
        """

    def close(self) -> None:
        """End all requests, and close all idle connections. Idempotent.

        Requests in flight, and streams whose headers have not come yet, end with `ConnectionLost` at once.
        Open streams must be closed by their readers. Later calls make new connections.
        """


class TransportWrapper:
    """A `Transport` that passes all calls to another transport; a base for transports that change one method.

    Args:
        inner: Carries the requests.

    Attributes:
        inner: As given.

    Threads: any, for every method.
    """

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

    def __str__(self) -> str:
        return str(self.inner)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """Pass the request on; see `Transport.request`."""
        return self.inner.request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """Pass the request on; see `Transport.stream`."""
        return self.inner.stream(request, deadline)

    def close(self) -> None:
        """Close the inner transport; see `Transport.close`."""
        self.inner.close()
