# SPDX-License-Identifier: Apache-2.0
"""The log of a container, line by line."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from apimachinery.errors import StreamIdle
from apimachinery.http import HTTPRequest
from controller_runtime.client.answers import error_of
from controller_runtime.client.deadlines import limit_of
from controller_runtime.client.pods.messages import PodCaller, Query
from controller_runtime.core.deadline import reconcile_deadline

_ONE_SECOND = 1


def log_query(
    container: str,
    *,
    follow: bool,
    previous: bool,
    since: float | datetime | None,
    tail: int | None,
    most_bytes: int | None,
    timestamps: bool,
) -> Query:
    """Return the query parameters of a request for a log. The arguments are those of `Client.logs`.

    Raises:
        ValueError: `since` is a time without a time zone.
    """
    query = [("container", container)] if container else []
    flags = ("follow", follow), ("previous", previous), ("timestamps", timestamps)
    query += [(name, "true") for name, is_set in flags if is_set]
    if isinstance(since, datetime):
        if since.tzinfo is None:
            raise ValueError(f"since={since} has no time zone: write datetime(…, tzinfo=UTC)")
        query.append(("sinceTime", since.astimezone(UTC).isoformat().replace("+00:00", "Z")))
    elif since is not None:
        query.append(("sinceSeconds", str(max(_ONE_SECOND, math.ceil(since)))))
    numbers = ("tailLines", tail), ("limitBytes", most_bytes)
    query += [(name, str(value)) for name, value in numbers if value is not None]
    return tuple(query)


class Logs:
    """The lines of a log, without their line feeds; an iterator, and a context manager that closes it.

    Bytes that are not UTF-8 are replaced by U+FFFD.

    Args:
        caller: Sends the request.
        request: The request.
        within: Seconds after which a log that has not ended raises `StreamIdle`. With None only the limits of the
            client's requests apply, which are checked before each wait for lines.

    Raises:
        APIError: The server refused the request.
        ConnectionLost: The server gave no answer.

    Threads: one reads, any closes.
    """

    def __init__(self, caller: PodCaller, request: HTTPRequest, within: float | None) -> None:
        self._caller, self._request = caller, request
        now = caller.host.monotonic()
        ends = [end for end in (None if within is None else now + within, reconcile_deadline()) if end is not None]
        self._end = min(ends, default=math.inf)
        self._stream = caller.transport.stream(request, min(self._end, now + caller.timeout))
        self._stream.is_text = True
        self._is_over = self._stream.response.status != 200
        self._lines: list[bytes] = []
        if not 200 <= self._stream.response.status < 300:
            self._stream.close()
            raise error_of(self._stream.response)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        """Return the next line.

        Raises:
            StreamIdle: The log is not over in time.
            ConnectionLost: The log was cut.
        """
        while not self._lines and not self._is_over:
            self._read()
        if not self._lines:
            self.close()
            raise StopIteration
        return self._lines.pop(0).decode(errors="replace")

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        try:
            limit_of(self._caller.transport, self._request)  # raises once it is over
            lines = self._stream.read(self._end)
        except StreamIdle as error:
            raise StreamIdle(f"GET {self._request.path}: the log is not over in time") from error
        except BaseException:
            self.close()
            raise
        self._is_over = lines is None
        self._lines += lines or ()
