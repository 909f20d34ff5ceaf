# SPDX-License-Identifier: Apache-2.0
"""One collection as a transport can list it, page by page, and watch it.

Nothing here retries or remembers: that is the reflector's. The one wait is that between two pages which are short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Self

from controller_runtime.api.http import HTTPRequest
from controller_runtime.api.resources import Resource
from controller_runtime.client.answers import check
from controller_runtime.client.decoding import PARTIAL, Decoding, Page, Undecodable, WatchEvent
from controller_runtime.client.paging import ListBounds, Paging
from controller_runtime.client.transport import Stream, Transport
from controller_runtime.client.warnings import Warnings
from controller_runtime.core.errors import APIError
from controller_runtime.core.host import Host
from controller_runtime.core.stop import Stop

ANY_VERSION = "0"
"""Asks for any state the server has at hand, possibly old; the empty version asks for the most recent."""

PAGE_SIZE = 500
"""Objects a page, as client-go asks for them."""


class WatchStream:
    """A watch in progress; a context manager that closes it.

    Threads: read by one; `close` from any.
    """

    def __init__(self, stream: Stream, decoding: Decoding) -> None:
        self._stream = stream
        self._decoding = decoding

    def read(self, deadline: float) -> Iterator[WatchEvent | Undecodable] | None:
        """The next events, at least one, to be used up before the next read; None when the stream is over.

        An ERROR event is raised, as the failure it names, where it stands among the others.

        Args:
            deadline: Absolute monotonic seconds by which a whole line must come.

        Raises:
            StreamIdle: The deadline passed without a line. The stream is closed.
            ConnectionLost: The stream was cut.
            APIError: Out of the iterator: what the server's ERROR event says.
        """
        lines = self._stream.read(deadline)
        return None if lines is None else map(self._decoding.event, lines)

    def close(self) -> None:
        """End the stream; a blocked `read` returns None. Idempotent."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._stream.close()


class ListWatch:
    """One collection, possibly narrowed, as it can be listed and watched. Threads: any.

    Args:
        host: For deadlines.
        transport: Carries the requests.
        resource: The collection.
        namespace: Only this namespace; empty for all.
        label_selector: Only objects with such labels.
        field_selector: Only objects with such fields.
        page_size: Most objects on one page; a server may ignore it at `ANY_VERSION`.
        request_timeout: Seconds for a page, and for a watch to begin.
        linger: Seconds by which changes may come later, so that many come together.
        warnings: Heeds what the server warns of; None logs each warning once for this collection.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        resource: Resource[Any],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = PAGE_SIZE,
        request_timeout: float = 30.0,
        linger: float = 0.0,
        warnings: Warnings | None = None,
    ) -> None:
        self.resource = resource
        self._host = host
        self._transport = transport
        self._path = resource.path(namespace)
        self._selectors = [("labelSelector", label_selector), ("fieldSelector", field_selector)]
        self._namespace = namespace
        self._page_size = page_size
        self._request_timeout = request_timeout
        self._linger = linger
        self._warnings = warnings or Warnings(host)
        self._decoding = Decoding(resource)

    def __str__(self) -> str:
        where = f" in {self._namespace}" if self._namespace else ""
        return f"{self.resource}{where}" + "".join(f" with {value}" for _, value in self._selectors if value)

    def pages(
        self, version: str = "", *, bounds: ListBounds | None = None, pause: Callable[[float], object] | None = None
    ) -> Iterator[Page]:
        """The whole list, a page at a time; the next one is asked for when the last is used up.

        Args:
            version: As for `list`.
            bounds: How much may come, and how quickly.
            pause: Waits so many seconds, or less if the caller is to stop; by default, on the host.

        Raises:
            Expired: Out of the iterator: the list began too long ago to be continued.
            DecodeError: Out of the iterator: the list goes beyond its bounds, or makes no progress.
            Exception: Whatever `list` raises.
        """
        paging = Paging(self, bounds or ListBounds(), self._page_size)
        token = ""
        while True:
            asked_at = self._host.monotonic()
            page = self.list(version, continue_token=token)
            seconds = paging.pause_after(page)
            yield page
            token = page.continue_token
            if not token:
                return
            if seconds > 0.0 and (left := asked_at + seconds - self._host.monotonic()) > 0.0:
                (pause or Stop(self._host, f"pages of {self}").wait)(left)

    def list(self, version: str = "", *, continue_token: str = "") -> Page:
        """One page.

        Args:
            version: The list is at least as new as this; `ANY_VERSION`, or empty for the
                most recent. Ignored with a `continue_token`, which has its own.
            continue_token: Of the page before; empty for the first page.

        Raises:
            APIError: The server refused.
            ConnectionLost: No whole answer came in time.
            DecodeError: The answer is not a list of this kind, such as a Table.
        """
        query = [("limit", str(self._page_size))]
        if continue_token:
            query.append(("continue", continue_token))
        elif version:
            query.append(("resourceVersion", version))
            if version != ANY_VERSION:  # without it a limit would ask for exactly this version
                query.append(("resourceVersionMatch", "NotOlderThan"))
        answer = self._transport.request(self._request(query, "List"), self._deadline())
        self._warnings.heed(answer, self._path)
        return self._decoding.page(check(answer).body)

    def watch(self, version: str, *, timeout: float, initial_events: bool = False) -> WatchStream:
        """The changes after `version`, with bookmarks.

        Args:
            version: Where to begin.
            timeout: Seconds after which the server is asked to end the stream.
            initial_events: Begin with the objects that exist, in a state at least as
                new as `version`, and a bookmark that says so: a streamed list.

        Raises:
            APIError: The server refused.
            ConnectionLost: No answer came in time.
        """
        query = [("watch", "1"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(int(timeout)))]
        if version:
            query.append(("resourceVersion", version))
        if initial_events:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
        stream = self._transport.stream(self._request(query), self._deadline())
        self._warnings.heed(stream.response, self._path)
        try:
            check(stream.response)
        except APIError:
            stream.close()
            raise
        stream.linger = self._linger
        return WatchStream(stream, self._decoding)

    def _request(self, query: Iterable[tuple[str, str]], of: str = "") -> HTTPRequest:
        chosen = [(name, value) for name, value in self._selectors if value]
        accept = "application/json"
        if self.resource.is_partial:  # nothing else will do, so that a server which cannot strip refuses
            group, _, version = PARTIAL.api_version.partition("/")
            accept += f";as={PARTIAL.kind}{of};g={group};v={version}"
        return HTTPRequest("GET", self._path, (*chosen, *query), {"accept": accept})

    def _deadline(self) -> float:
        return self._host.monotonic() + self._request_timeout
