# SPDX-License-Identifier: Apache-2.0
"""Watches: the existing objects, then the changes, with bookmarks, until a deadline.

The reader takes lines from a cursor on the storage's history, so no writer ever waits for a reader. If a reader is so
slow that the history no longer has its position, the watch ends with an error, and the client lists again.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterable, Mapping

from apimachinery.host import Clock, Host
from embedded_apiserver.list_options import ListOptions, version_number
from embedded_apiserver.reads.forms import EventType, LineForm
from embedded_apiserver.reads.listing import too_old
from embedded_apiserver.reads.selection import Selection
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError, too_large_version
from embedded_apiserver.storage.history import Compacted
from embedded_apiserver.storage.storage import Cursor, Storage
from embedded_apiserver.storage.stored import Change, Stored

# Seconds. A real server sends a bookmark about once a minute, and one shortly before it ends a watch, so that the
# client's next watch begins where this one ended.
_BOOKMARK_PERIOD = 60.0
_BOOKMARK_BEFORE_END = 2.0
# Seconds that a watch lasts at least if the client sets no timeout, as on a real server. The time is drawn for each
# watch, up to twice as long, so that not all clients reconnect at once.
_SHORTEST = 1800.0


class _Phase(enum.Enum):
    """The state of a watch: existing objects are sent, then changes, then nothing more."""

    INITIAL = enum.auto()
    LIVE = enum.auto()
    OVER = enum.auto()


class ObjectWatch:
    """The lines of one watch: first the existing objects, then the changes. Implements `api.http.Watch`.

    Args:
        clock: The server's clock.
        cursor: The source of the changes; `close` closes it.
        form: The form of the lines.
        selection: Selects the watched objects.
        initial: The existing objects, which are sent first as `ADDED`; None to send only changes.
        version: The resourceVersion after which changes are sent; with `initial`, that of the existing objects.
        bookmarks: True if the client requested bookmarks.
        duration: The seconds until the watch ends.
        waits: True if `take` may wait for a conversion webhook.

    Threads: `take` and `next_wake` from one thread; `close` from any.
    """

    def __init__(
        self,
        clock: Clock,
        cursor: Cursor,
        form: LineForm,
        selection: Selection,
        *,
        initial: Iterable[Stored] | None,
        version: int,
        bookmarks: bool,
        duration: float,
        waits: bool = False,
    ) -> None:
        self.waits = waits
        self.headers: Mapping[str, str] = _headers(form)
        self._clock = clock
        self._cursor = cursor
        self._form = form
        self._selection = selection
        self._initial = iter(initial or ())
        self._phase = _Phase.LIVE if initial is None else _Phase.INITIAL
        # The reader has received all changes up to this resourceVersion.
        self._version = version
        self._bookmarks = bookmarks
        self._ends_at = clock.monotonic() + duration
        self._bookmark_at = self._next_bookmark(clock.monotonic())

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return at most `limit` lines, and True if the watch ends after them."""
        lines: list[bytes] = []
        try:
            if self._phase is _Phase.INITIAL:
                self._take_initial(lines, limit)
            if self._phase is _Phase.LIVE:
                now = self._clock.monotonic()
                self._take_live(lines, limit, now)
                if now >= self._ends_at:
                    self.close()
        except StatusError as error:  # an object that cannot be converted to the version of the watch
            lines.append(self._form.error(error.body()))
            self.close()
        return lines, self._phase is _Phase.OVER

    def next_wake(self) -> float | None:
        """Return the seconds until a bookmark or the end is due, so that `take` must be called even without a
        change; 0 while existing objects are left, and after the end.
        """
        if self._phase is not _Phase.LIVE:
            return 0.0
        return max(0.0, min(self._ends_at, self._bookmark_at) - self._clock.monotonic())

    def close(self) -> None:
        """End the watch and close the cursor. Idempotent."""
        self._phase = _Phase.OVER
        self._cursor.close()

    def _take_initial(self, lines: list[bytes], limit: int) -> None:
        """Add the next existing objects; after the last one, the bookmark that marks the end, and go live."""
        for item in itertools.islice(self._initial, limit):
            lines.append(self._form.initial(item))  # one by one, so that those before a failure are kept
        if len(lines) < limit:
            if self._bookmarks:
                lines.append(self._form.bookmark(self._version, initial_end=True))
            self._phase = _Phase.LIVE

    def _take_live(self, lines: list[bytes], limit: int, now: float) -> None:
        """Add lines of changes to `lines`, up to `limit` in all, and a bookmark if one is due."""
        while len(lines) < limit:
            try:
                batch = self._cursor.take(limit - len(lines))
            except Compacted as forgotten:
                lines.append(self._form.error(too_old(self._version, forgotten).body()))
                self.close()
                break
            if batch is None:  # the server is stopping
                self.close()
                break
            for change in batch.changes:
                line = self._line(change)
                if line is not None:
                    lines.append(line)
                self._version = change.version
            if batch.version is not None:
                # The resourceVersion from which the client watches may not exist yet. Then no bookmark may claim it.
                has_reached = batch.version >= self._version
                self._version = max(self._version, batch.version)
                if now >= self._bookmark_at and len(lines) < limit:
                    self._bookmark_at = self._next_bookmark(now)
                    if has_reached:
                        lines.append(self._form.bookmark(self._version, initial_end=False))
                break

    def _line(self, change: Change) -> bytes | None:
        """Return the line of a change; None if the change does not concern this watcher.

        The event is ADDED for an object that begins to match the selectors, and DELETED for one that ceases to match.
        """
        old, new, selection = change.old, change.new, self._selection
        is_there = new is not None and selection.matches(new)
        if new is None or selection.is_narrowed:
            was_there = old is not None and selection.matches(old)
        else:  # only the key decides, and the old object has the same
            was_there = old is not None and is_there
        if is_there:
            return self._form.event(EventType.MODIFIED if was_there else EventType.ADDED, change)
        return self._form.event(EventType.DELETED, change) if was_there else None

    def _next_bookmark(self, now: float) -> float:
        if not self._bookmarks:
            return math.inf
        last = self._ends_at - _BOOKMARK_BEFORE_END
        return last if now < last < now + _BOOKMARK_PERIOD else now + _BOOKMARK_PERIOD


class FailedWatch:
    """A watch whose only line is an error. A real API server answers it with 200, too, and clients rely on that."""

    def __init__(self, error: StatusError, form: LineForm) -> None:
        self.headers: Mapping[str, str] = _headers(form)
        self._lines = [form.error(error.body())]

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return the line with the error, and True, because the watch ends after it. Later calls return no lines."""
        lines, self._lines = self._lines, []
        return lines, True

    def next_wake(self) -> float | None:
        """Return 0: the error is available immediately."""
        return 0.0

    def close(self) -> None:
        """Do nothing; there is no cursor to close."""


def _headers(form: LineForm) -> Mapping[str, str]:
    return {"content-type": form.stream_type}


def check_watch(route: Route, options: ListOptions) -> None:
    """Refuse a watch with an invalid selector or resourceVersion, as `open_watch` does.

    Raises:
        StatusError: 400, a label or field selector is invalid; 500, as from a real API server, the shard selector or
            the resourceVersion is invalid.
    """
    Selection.of(route.kind, route.namespace, options)
    version_number(options.version)


def open_watch(
    host: Host, storage: Storage, route: Route, form: LineForm, options: ListOptions, on_ready: Callable[[], None]
) -> ObjectWatch | FailedWatch:
    """Return the watch that `options` describe, or a watch whose only line is an error.

    A watch without a resourceVersion, or with 0, begins with the existing objects, unless `sendInitialEvents=false`.

    Args:
        host: The source of time, and of randomness for the duration of the watch.
        storage: The storage of the objects.
        route: The kind and the namespace.
        form: The form of the lines.
        options: The options of the request.
        on_ready: Called when there is a new change, once for each `take` that had returned all changes.

    Raises:
        StatusError: The options are refused by `check_watch`.
    """
    kind = route.kind
    if options.timeout is not None and options.timeout < 0:
        return FailedWatch(StatusError(500, "InternalError", "context deadline exceeded"), form)
    selection = Selection.of(kind, route.namespace, options)
    version, initial = version_number(options.version), None
    if options.initial_events or (options.initial_events is None and not version):
        if version > storage.version:
            return FailedWatch(too_large_version(version, storage.version), form)
        version, items = storage.read(kind.resource, selection.prefix)
        initial = filter(selection.matches, items)
    version = version or storage.version
    try:
        cursor = storage.follow(kind.resource, version, on_ready)
    except Compacted as forgotten:
        return FailedWatch(too_old(version, forgotten), form)
    return ObjectWatch(
        host,
        cursor,
        form,
        selection,
        initial=initial,
        version=version,
        bookmarks=options.bookmarks,
        duration=options.timeout or _SHORTEST * (1.0 + host.random.random()),
        waits=kind.conversion is not None,
    )
