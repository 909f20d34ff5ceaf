# SPDX-License-Identifier: Apache-2.0
"""Keeps a copy of one collection in step with the server: list, watch, recover.

The reflector is a state machine: `state.py` has its states and the changes between them, `recovery.py` what follows
from a failure. The first list asks for the most recent state, so that a program which is restarted does not act on a
state that it has already left behind; `CacheOptions.any_version` takes any state that the server has at hand. Later
lists are at least as new as the resourceVersion last seen, so that the copy does not go back in time, and ask for the
most recent state only when the server has refused a resourceVersion.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Protocol

from apimachinery.errors import ControllerRuntimeError, DecodeError, Expired, StreamIdle, UsageError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import Cached, PlainKey
from apimachinery.stop import Stop
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.liveness import Liveness
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.pace import Pace
from controller_runtime.cache.recovery import Failure, classify, recovery
from controller_runtime.cache.relisting import RelistRequest
from controller_runtime.cache.state import TRANSITIONS, Listing, Receiving, Resuming, State, Streaming, Watching
from controller_runtime.cache.streamed import StreamedList
from controller_runtime.cache.transforms import transformed
from controller_runtime.client.decoding import EventType, Page, Undecodable, WatchEvent
from controller_runtime.client.listwatch import ANY_VERSION, MOST_RECENT, ListWatch
from controller_runtime.client.reachable import ServerReachable

log = get_logger(__name__)

SLACK = 10.0
"""Seconds by which a stream may exceed the duration that was requested for it, before it counts as dead."""

TOO_SHORT = 1.0
"""The least duration of a watch in seconds. A shorter one has failed if it brought no new resourceVersion; if it
brought one, the next watch waits until this time has passed.
"""


class Sink(Protocol):
    """Receives the lists and changes of a reflector, such as a `Delivery`. Threads: the reflector's."""

    def to_store(self, cached: Cached) -> Cached:
        """Return the object to store for `cached`: the stored object if it is equal, otherwise a form of `cached`."""

    def replace(self, objects: dict[PlainKey, Cached], version: str) -> object:
        """Replace the whole content by `objects`; `version` is the resourceVersion of their list."""

    def apply(self, event: WatchEvent) -> object:
        """Apply one watch event."""


class Reflector:
    """Lists and watches one collection, and passes objects and changes to a sink, until it is stopped.

    The reflector never gives up: after a failure it waits for a growing delay, or for the delay that the server asked
    for, and tries again. A stream cannot hang, because it is closed after too long without a line (see `Patience`). An
    object that cannot be read is logged and skipped.

    Args:
        host: The source of time and randomness.
        source: Lists and watches the collection.
        sink: Receives the objects and changes.
        options: The options of the cache.

    Attributes:
        patience: The `patience` of the options.
        state: The current state; see `state.py`.
        liveness: When the server was last heard from, the last error, and the counters.

    Threads: `run` on one; `relist` from any; the attributes are read from any.
    """

    def __init__(self, host: Host, source: ListWatch, sink: Sink, options: CacheOptions | None = None) -> None:
        options = options or CacheOptions()
        self._host = host
        self._source = source
        self._sink = sink
        self._portion = options.portion
        self._streaming = options.streaming and options.portion is None
        self._first_version = ANY_VERSION if options.any_version else MOST_RECENT
        self._transform = options.transform
        self.patience = options.patience
        self._pace = Pace(host, self.patience.backoff, options.reachable or ServerReachable(host))
        # That of the last event, even if it is lower than one before: the order is the server's, and it resumes there.
        self._version = ""
        # The thread of `run` replaces it as a whole, so the others need no lock to read it.
        self.state: State = Streaming() if self._streaming else Listing()
        self.liveness = Liveness(host.monotonic())
        self._relist = RelistRequest(host)

    def relist(self, why: str = "") -> None:
        """Close the watch and list again; with an empty `why` only if slots of a ring are missing, else it resumes."""
        self._relist.make(why)

    def run(self, stop: Stop) -> None:
        """List and watch until `stop` is set, so that the sink stays up to date.

        Raises:
            Exception: The sink or the transform raised it, which is a bug in one of them.
        """
        while not stop.is_set():
            try:
                match self.state:
                    case Listing():
                        self._list(stop)
                    case Streaming():
                        self._stream(stop, initial=True)
                    case _:
                        self._stream(stop, initial=False)
            except UsageError:  # a bug of a handler, an index or a transform: no other list would cure it
                raise
            except ControllerRuntimeError as error:
                if not stop.is_set() and (delay := self._recover(error)):
                    self._pace.wait(error, delay, stop)

    def _enter(self, state: State) -> None:
        assert (type(self.state), type(state)) in TRANSITIONS, f"{self.state} cannot become {state}"
        self.state = state

    def _list(self, stop: Stop) -> None:
        self.liveness.lists += 1
        self._pace.list_begins(self._host.monotonic())
        objects: dict[PlainKey, Cached] = {}
        version = ""
        for page in self._pages(stop):
            if stop.is_set():
                return
            version = version or page.version
            for found in (*map(self._transformed, page.items), *page.undecodable):
                if isinstance(found, Undecodable):
                    self._skip(found)
                else:
                    kept = self._sink.to_store(found)
                    objects[kept.plain_key] = kept  # its own key, so that there is one
        self._complete(objects, version)

    def _pages(self, stop: Stop) -> Iterator[Page]:
        version = self._version_to_ask()
        pages = partial(self._source.pages, version, bounds=self.patience.lists, pause=stop.wait)
        return pages() if self._portion is None else self._portion.pages(partial(self._source.list, version), pages)

    def _must_list(self) -> bool:
        return bool(self._relist.why) or (self._portion is not None and self._portion.lacks_slots)

    def _stream(self, stop: Stop, *, initial: bool) -> None:
        """Open a watch, which begins with a streamed list if `initial`, and read the watch to its end."""
        self.liveness.watches += 1
        self.liveness.lists += initial
        began = self._host.monotonic()
        if initial:
            self._pace.list_begins(began)
        timeout = self._host.random.uniform(*self.patience.watch)
        before = self._version
        with self._source.watch(self._version_to_ask(), timeout=timeout, initial_events=initial) as stream:
            forget = stop.on_set(stream.close)
            self._relist.follow(stream)
            self._opened()
            try:
                while (
                    not self._must_list()
                    and (events := stream.read(self._deadline(began + timeout + SLACK))) is not None
                ):
                    self._take(events)
            finally:
                self._relist.follow(None)
                forget()
        if stop.is_set():
            return
        if isinstance(self.state, Watching) and (why := self._relist.take()):
            raise Expired(f"{self._source}: {why}", code=410)
        if isinstance(self.state, Watching) and self._must_list():
            self._enter(Listing())
            return
        ended = self._host.monotonic()
        if not isinstance(self.state, Watching):
            raise ControllerRuntimeError(f"{self._source}: the streamed list ended before it was complete")
        if self._version == before and ended - began < TOO_SHORT:
            raise ControllerRuntimeError(f"{self._source}: the watch ended at once, without anything new")
        self._pace.worked(ended - self.state.since)
        self._enter(Resuming(self.state.is_retry))
        # A server may end each watch after one event. That is no failure, but it is not asked in a hot loop either.
        stop.wait(max(0.0, began + TOO_SHORT - ended))

    def _opened(self) -> None:
        now = self._host.monotonic()
        self.liveness.opened(now)
        match self.state:
            case Streaming(most_recent):
                received = StreamedList(self._source, self.patience.lists, self._sink.to_store)
                self._enter(Receiving(received, most_recent))
            case Resuming(is_retry):
                self._enter(Watching(now, is_retry))
                self.liveness.last_error = ""  # without waiting for a line: an open watch may be quiet for long

    def _take(self, events: Iterator[WatchEvent | Undecodable]) -> None:
        self.liveness.heard(self._host.monotonic())
        if self._transform is not None:
            events = map(self._prepared, events)
        if isinstance(self.state, Receiving) and not self._take_initial(self.state.received, events):
            return
        for event in events:
            if isinstance(self.state, Watching) and self.state.is_retry:
                self._enter(Watching(self.state.since, is_retry=False))
            if isinstance(event, Undecodable):
                self._skip(event)
            else:
                if event.cached is None:
                    self._refuse_the_past(event)
                self.liveness.last_error = ""
                self._version = event.version
                self._sink.apply(event)

    def _take_initial(self, received: StreamedList, events: Iterator[WatchEvent | Undecodable]) -> bool:
        """Take events up to the end of the streamed list; return whether the list has ended."""
        for event in events:
            if isinstance(event, Undecodable):
                self._skip(event)
            elif received.take(event):
                self._complete(received.objects, event.version)
                return True
        return False

    def _refuse_the_past(self, bookmark: WatchEvent) -> None:
        """Raise `Expired` if a bookmark is older than the last event: the server's data was restored from a backup.

        Only bookmarks count. The resourceVersions of objects need not grow from one event to the next.
        """
        if compare_versions(bookmark.version, self._version) < 0:
            text = f"{self._source}: the server is at version {bookmark.version}, but was at {self._version} before"
            raise Expired(text, code=410)

    def _complete(self, objects: dict[PlainKey, Cached], version: str) -> None:
        now = self._host.monotonic()
        self._version = version
        self.liveness.heard(now)
        self._enter(Watching(now, is_retry=False) if isinstance(self.state, Receiving) else Resuming())
        self.liveness.last_error = ""
        self._sink.replace(objects, version)
        if self._portion is not None:
            self._portion.completed()

    def _recover(self, error: ControllerRuntimeError) -> float:
        """Enter the state that follows from a failure, and return the seconds to wait before going on."""
        failed, failure, now = self.state, classify(error), self._host.monotonic()
        tell = log.warning if self.liveness.failed(error, now) else log.debug
        match failed:
            case Receiving(received):
                received.objects.clear()  # half a list is of no use, and the error's traceback keeps it during the wait
            case Watching(since):
                if failure is not Failure.BUSY or now - since < TOO_SHORT:
                    self.liveness.came_to_nothing()
                # A watch that fell silent worked until its last line.
                self._pace.worked((self.liveness.heard_at if isinstance(error, StreamIdle) else now) - since)
        state, must_wait = recovery(failed, failure, streaming=self._streaming)
        self._enter(state)
        is_relist = isinstance(failed, Resuming | Watching) and failure in (Failure.VERSION, Failure.EVENT)
        if failure is Failure.KIND:
            delay = self.patience.missing_kind
        else:
            delay = self._pace.delay(error, is_relist=is_relist) if must_wait else 0.0
        tell("list or watch failed", collection=self._source, state=failed.text, error=error, retry_in=delay)
        return delay

    def _transformed(self, cached: Cached) -> Cached | Undecodable:
        try:
            return transformed(cached, self._transform)
        except DecodeError as error:
            return Undecodable(str(error))

    def _prepared(self, event: WatchEvent | Undecodable) -> WatchEvent | Undecodable:
        # A deletion is not transformed: the store looks at its key alone.
        if isinstance(event, Undecodable) or event.cached is None or event.type is EventType.DELETED:
            return event
        if self._portion is not None and not self._portion.keeps(event.cached):  # the sink drops it
            return event
        found = self._transformed(event.cached)
        return found if isinstance(found, Undecodable) else event._replace(cached=found)

    def _version_to_ask(self) -> str:
        match self.state:
            case Listing(most_recent=True) | Streaming(most_recent=True):
                return MOST_RECENT
            case _:
                return self._version or self._first_version

    def _deadline(self, ends_at: float) -> float:
        """Return the time by which a line must come, in monotonic seconds."""
        silence = self.patience.initial_silence if isinstance(self.state, Receiving) else self.patience.silence
        return min(ends_at, self._host.monotonic() + silence)

    def _skip(self, undecodable: Undecodable) -> None:
        self.liveness.skipped += 1
        log.warning("object skipped", collection=self._source, error=undecodable.text)
