# SPDX-License-Identifier: Apache-2.0
"""A watch: what is there, then what changes, with bookmarks, until its time is up.

It pulls: whoever reads takes lines from a cursor on the storage's history. A reader that
is too slow finds its place forgotten, is told so and has to list again.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterable, Mapping

from controller_runtime.apiserver.options import ListOptions, version_number
from controller_runtime.apiserver.reads.forms import EventType, LineForm, error_line
from controller_runtime.apiserver.reads.listing import too_old
from controller_runtime.apiserver.reads.selection import Selection
from controller_runtime.apiserver.routes import Route
from controller_runtime.apiserver.status import StatusError, too_large_version
from controller_runtime.apiserver.storage.history import Compacted
from controller_runtime.apiserver.storage.storage import Cursor, Storage
from controller_runtime.apiserver.storage.stored import Change, Stored
from controller_runtime.core.host import Clock, Host

# A real server sends bookmarks about once a minute, and one shortly before it ends a
# watch, so that the next one begins where this one ended.
_BOOKMARK_PERIOD = 60.0
_BOOKMARK_BEFORE_END = 2.0
# Seconds a watch lasts unless the client says otherwise: up to twice as long, drawn for
# each, so that not all of them come back at once.
_SHORTEST = 1800.0
_HEADERS: Mapping[str, str] = {"content-type": "application/json"}


class _Phase(enum.Enum):
    INITIAL = enum.auto()
    LIVE = enum.auto()
    OVER = enum.auto()


class ObjectWatch:
    """The lines of one watch; an `api.wire.Watch`.

    Args:
        clock: The server's.
        cursor: Where the changes come from; closed with the watch.
        form: How objects are served.
        selection: Which objects are told.
        initial: What to tell first, as added; None tells only changes.
        version: The version of `initial`, or the one to watch from.
        bookmarks: Whether the client wants them.
        duration: Seconds until the stream ends.

    Threads: `take` and `next_wake` from one reader; `close` from any.
    """

    headers = _HEADERS

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
    ) -> None:
        self._clock = clock
        self._cursor = cursor
        self._form = form
        self._selection = selection
        self._initial = iter(initial or ())
        self._phase = _Phase.LIVE if initial is None else _Phase.INITIAL
        # The version up to which the reader has been told everything.
        self._version = version
        self._bookmarks = bookmarks
        self._ends_at = clock.monotonic() + duration
        self._bookmark_at = self._next_bookmark(clock.monotonic())

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """The next lines, and whether the stream is over after them."""
        lines: list[bytes] = []
        if self._phase is _Phase.INITIAL:
            lines += self._take_initial(limit)
        if self._phase is _Phase.LIVE:
            now = self._clock.monotonic()
            self._take_live(lines, limit, now)
            if now >= self._ends_at:
                self.close()
        return lines, self._phase is _Phase.OVER

    def next_wake(self) -> float | None:
        """Seconds until a bookmark is due or the time is up."""
        if self._phase is not _Phase.LIVE:
            return 0.0
        return max(0.0, min(self._ends_at, self._bookmark_at) - self._clock.monotonic())

    def close(self) -> None:
        """The reader is gone, or the stream has ended. Idempotent."""
        self._phase = _Phase.OVER
        self._cursor.close()

    def _take_initial(self, limit: int) -> list[bytes]:
        lines = [self._form.initial(item) for item in itertools.islice(self._initial, limit)]
        if len(lines) < limit:
            if self._bookmarks:
                lines.append(self._form.bookmark(self._version, initial_end=True))
            self._phase = _Phase.LIVE
        return lines

    def _take_live(self, lines: list[bytes], limit: int, now: float) -> None:
        """Add to `lines`, as far as the limit."""
        while len(lines) < limit:
            try:
                batch = self._cursor.take(limit - len(lines))
            except Compacted as forgotten:
                lines.append(error_line(too_old(self._version, forgotten).body()))
                self.close()
                break
            if batch is None:  # the server stops
                self.close()
                break
            for change in batch.changes:
                line = self._line(change)
                if line is not None:
                    lines.append(line)
                self._version = change.version
            if batch.version is not None:
                has_reached = batch.version >= self._version  # else it was asked for a version that is yet to come
                self._version = max(self._version, batch.version)
                if now >= self._bookmark_at and len(lines) < limit:
                    self._bookmark_at = self._next_bookmark(now)
                    if has_reached:
                        lines.append(self._form.bookmark(self._version, initial_end=False))
                break

    def _line(self, change: Change) -> bytes | None:
        """What `change` is to this watcher: objects come and go with the selection, too."""
        old, new, selection = change.old, change.new, self._selection
        is_there = new is not None and selection.matches(new)
        if new is None or selection.is_narrowed:
            was_there = old is not None and selection.matches(old)
        else:  # by the key alone, which both have
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
    """A watch that ends at once with one failure; real servers answer 200 first, and clients rely on it."""

    headers = _HEADERS

    def __init__(self, error: StatusError) -> None:
        self._lines = [error_line(error.body())]

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """The failure, once."""
        lines, self._lines = self._lines, []
        return lines, True

    def next_wake(self) -> float | None:
        """At once."""
        return 0.0

    def close(self) -> None:
        """Nothing to let go of."""


def open_watch(
    host: Host, storage: Storage, route: Route, form: LineForm, options: ListOptions, on_ready: Callable[[], None]
) -> ObjectWatch | FailedWatch:
    """The watch that `options` ask for.

    Without a version it begins with what is there, asked for or not, as a real server
    has done since 1.34.

    Raises:
        StatusError: 400, or 504 for initial events of a version that is yet to come.
    """
    kind = route.kind
    selection = Selection(kind, route.namespace, options.labels, options.fields)
    version, initial = version_number(options.version), None
    if options.initial_events or (options.initial_events is None and not version):
        if version > storage.version:
            raise too_large_version(version, storage.version)
        version, items = storage.read(kind.resource, selection.prefix)
        initial = filter(selection.matches, items)
    version = version or storage.version
    try:
        cursor = storage.follow(kind.resource, version, on_ready)
    except Compacted as forgotten:
        return FailedWatch(too_old(version, forgotten))
    return ObjectWatch(
        host,
        cursor,
        form,
        selection,
        initial=initial,
        version=version,
        bookmarks=options.bookmarks,
        duration=options.timeout or _SHORTEST * (1.0 + host.random.random()),
    )
