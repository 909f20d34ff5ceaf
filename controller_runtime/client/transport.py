# SPDX-License-Identifier: Apache-2.0
"""The boundary: two verbs that leave the process, and what every maker of them promises.

Nothing that may have been done is re-sent behind the caller's back, nothing waits without
a deadline, and deadlines are absolute monotonic seconds of the caller's host.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from controller_runtime.api.http import HTTPRequest, HTTPResponse


class Stream(Protocol):
    """A streamed answer, read by one thread; a context manager that closes it."""

    response: HTTPResponse
    """Status and headers; the body only where the status is not 200."""
    linger: float = 0.0
    """Seconds that a `read` which finds nothing may let pass before it waits, so that what comes meanwhile is taken
    together: to be woken costs more than to read. A stream may ignore it."""

    def read(self, deadline: float) -> list[bytes] | None:
        """The next complete lines, at least one, without their newlines; None when the stream is over.

        Over means that the server ended it cleanly, or that we closed it.

        Args:
            deadline: A complete line must arrive by then, however many bytes drip in.

        Raises:
            StreamIdle: The deadline passed without a complete line. The stream is closed.
            ConnectionLost: The stream was cut, inside a line or between two.
        """

    def close(self) -> None:
        """End the stream, from any thread; wakes a blocked `read`, which then returns None. Idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


class Transport(Protocol):
    """Carries requests to one API server; as a string, where that is. Threads: any."""

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """One exchange. Any HTTP status is an answer.

        Raises:
            ConnectionLost: No whole answer by `deadline`. A write may have been done.
        """

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """Start a streamed exchange; `deadline` bounds the wait for its headers.

        Raises:
            ConnectionLost: No headers by `deadline`.
        """

    def close(self) -> None:
        """Give up what is in hand, and let go of connections kept for later. Idempotent.

        Requests, and streams whose headers are not here yet, end with `ConnectionLost` at
        once; streams in progress are their readers' to close. Later calls connect anew.
        """


class TransportWrapper:
    """A `Transport` around another one: all of it by default, for subclasses that change one part.

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
