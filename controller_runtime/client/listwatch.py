# SPDX-License-Identifier: Apache-2.0
"""Lists one collection page by page, and watches it.

Nothing here retries or keeps state, which is the reflector's task. The one wait is between two short pages; see
`paging.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self

from apimachinery.errors import APIError, Forbidden, NotFound
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.client.answers import check
from controller_runtime.client.decoding import PARTIAL, Decoding, Page, Undecodable, WatchEvent
from controller_runtime.client.missing_kinds import explained
from controller_runtime.client.paging import ListBounds, Paging
from controller_runtime.client.transport import Stream, Transport
from controller_runtime.client.warnings import Warnings

ANY_VERSION = "0"
"""The version that requests any state that the server has, possibly an old one."""

MOST_RECENT = ""
"""The version that requests the most recent state."""

PAGE_SIZE = 500
"""The default number of objects on a page, as in client-go."""


class WatchStream:
    """An open watch; a context manager that closes it.

    Args:
        stream: The source of the lines.
        decoding: Decodes the lines.

    Threads: `read` from one; `close` from any.
    """

    def __init__(self, stream: Stream, decoding: Decoding) -> None:
        self._stream = stream
        self._decoding = decoding

    def read(self, deadline: float) -> Iterator[WatchEvent | Undecodable] | None:
        """Return the next events, at least one; None when the stream has ended.

        The iterator decodes the events one by one, and must be exhausted before the next `read`. It raises the error of
        an ERROR event, after the events before it.

        Args:
            deadline: Absolute monotonic seconds by which a whole line must come.

        Raises:
            StreamIdle: The deadline passed without a line. The stream is closed.
            ConnectionLost: The stream was cut.
            APIError: By the iterator: the error of the ERROR event.
        """
        lines = self._stream.read(deadline)
        if lines is None:
            return None
        events = map(self._decoding.event, lines)
        return self._initial(events) if self._stream.is_bulk else events

    def _initial(self, events: Iterator[WatchEvent | Undecodable]) -> Iterator[WatchEvent | Undecodable]:
        for event in events:
            if isinstance(event, WatchEvent) and event.initial_events_end:
                self._stream.is_bulk = False
            yield event

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
    """Lists and watches one collection.

    Args:
        host: The source of the time.
        transport: Carries the requests.
        collection: The objects to list and watch.
        page_size: The most objects on one page; a server may ignore it for lists at `ANY_VERSION`.
        request_timeout: The timeout in seconds of a page, and of the opening of a watch.
        drop_managed_fields: Ask for objects without `metadata.managedFields`, which may be most of their bytes. Servers
            before Kubernetes 1.38 ignore this, and so do later ones unless their feature gate `ManagedFieldsOptOut` is
            on.
        linger: Seconds by which `read` may delay a change, so that the changes of a busy collection come together.
        warnings: Logs the server's warnings; None logs each text once for this collection.

    Attributes:
        collection: As given.
        shards: Returns the `shardSelector` to send with each request; None to send none. Servers that do not know it
            ignore it.
        advice: A text that is added to the error of a forbidden request: how to get the right. Empty adds nothing.

    Raises:
        ValueError: A namespace was given for a cluster-scoped resource.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        collection: Collection,
        *,
        page_size: int = PAGE_SIZE,
        request_timeout: float = 30.0,
        drop_managed_fields: bool = False,
        linger: float = 0.0,
        warnings: Warnings | None = None,
    ) -> None:
        self.collection = collection
        self.shards: Callable[[], str] | None = None
        self.advice = ""
        self._host = host
        self._transport = transport
        self._path = collection.path
        self._page_size = page_size
        self._request_timeout = request_timeout
        self._linger = linger
        self._parameters = ";drop=metadata.managedFields" if drop_managed_fields else ""
        self._warnings = warnings or Warnings(host)
        self._decoding = Decoding(collection.resource)

    def __str__(self) -> str:
        return str(self.collection)

    def pages(
        self, version: str = "", *, bounds: ListBounds | None = None, pause: Callable[[float], object] | None = None
    ) -> Iterator[Page]:
        """Return an iterator over the pages of a list, which requests each page when it is advanced.

        Args:
            version: The version that the list must have reached; see `list`.
            bounds: The bounds of the list's size and of the rate of its pages; None for the defaults.
            pause: Called to wait for the given seconds; it may return early if the caller is stopped. By default the
                host waits.

        Raises:
            Expired: By the iterator: the list began too long ago to be continued.
            DecodeError: By the iterator: the list goes beyond its bounds, or makes no progress.
            Exception: By the iterator: `list` raised it.
        """
        paging = Paging(self, bounds or ListBounds(), self._page_size)
        token = ""
        while True:
            began = self._host.monotonic()
            page = self.list(version, continue_token=token)
            seconds = paging.pause_after(page)
            yield page
            token = page.continue_token
            if not token:
                return
            if seconds > 0.0 and (left := began + seconds - self._host.monotonic()) > 0.0:
                (pause or Stop(self._host, f"pages of {self}").wait)(left)

    def list(self, version: str = "", *, continue_token: str = "", exact: bool = False, most: int = 0) -> Page:
        """Request one page of the list, and return it.

        Args:
            version: The list must be at least as new as this; `ANY_VERSION` for any, or empty for the most recent.
                Ignored with a `continue_token`, which includes a version.
            continue_token: The token from the previous page; empty for the first page.
            exact: Ask for the state at exactly `version`, which the server may no longer have.
            most: The most objects on the page; 0 for `page_size`.

        Raises:
            Expired: The server no longer has the version; the error may have a token to continue at a newer version.
            NoSuchKind: The server does not serve the kind.
            APIError: The server refused the request.
            ConnectionLost: No whole answer came in time.
            DecodeError: The answer is not a list of this kind, but a Table, for example.
        """
        query = [("limit", str(most or self._page_size))]
        if continue_token:
            query.append(("continue", continue_token))
        elif version:
            query.append(("resourceVersion", version))
            if version != ANY_VERSION:  # a limit alone would ask for exactly this version
                query.append(("resourceVersionMatch", "Exact" if exact else "NotOlderThan"))
        answer = self._transport.request(self._request(query, "List"), self._deadline())
        self._warnings.log_new(answer, self._path)
        try:
            return self._decoding.page(check(answer).body)
        except (NotFound, Forbidden) as error:
            raise self._explained(error) from None

    def watch(self, version: str, *, timeout: float, initial_events: bool = False) -> WatchStream:
        """Open a watch for the changes after the resourceVersion `version`, with bookmarks.

        Args:
            version: The resourceVersion after which to begin.
            timeout: Seconds after which the server is asked to end the stream.
            initial_events: Ask for a streamed list: the existing objects come first, in a state at least as new as
                `version`, then a bookmark.

        Raises:
            NoSuchKind: The server does not serve the kind.
            APIError: The server refused the request.
            ConnectionLost: No answer came in time.
        """
        query = [("watch", "1"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(int(timeout)))]
        if version:
            query.append(("resourceVersion", version))
        if initial_events:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
        stream = self._transport.stream(self._request(query), self._deadline())
        self._warnings.log_new(stream.response, self._path)
        try:
            check(stream.response)
        except APIError as error:
            stream.close()
            if isinstance(error, NotFound | Forbidden):
                raise self._explained(error) from None
            raise
        stream.linger, stream.is_bulk = self._linger, initial_events
        return WatchStream(stream, self._decoding)

    def _explained(self, error: NotFound | Forbidden) -> APIError:
        return (
            error.advised(self.advice) if isinstance(error, Forbidden) else explained(error, self.collection.resource)
        )

    def _request(self, query: Iterable[tuple[str, str]], of: str = "") -> HTTPRequest:
        selectors = {"labelSelector": self.collection.label_selector, "fieldSelector": self.collection.field_selector}
        chosen = [(name, value) for name, value in selectors.items() if value]
        if self.shards is not None and (shards := self.shards()):
            chosen.append(("shardSelector", shards))
        accept = "application/json"
        if self.collection.resource.is_partial:  # no alternative, so that a server which cannot strip objects refuses
            group, _, version = PARTIAL.api_version.partition("/")
            accept += f";as={PARTIAL.kind}{of};g={group};v={version}"
        return HTTPRequest("GET", self._path, (*chosen, *query), {"accept": accept + self._parameters})

    def _deadline(self) -> float:
        return self._host.monotonic() + self._request_timeout
