# SPDX-License-Identifier: Apache-2.0
"""Keeps a copy of one collection in step with the server: list, watch, recover.

The states and what follows from a failure are in `recovery`. The first list begins at
any state the server has at hand, later ones at the version last seen, so that the copy
does not go back in time; the most recent is asked for only once a version was refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from controller_runtime.api.objects import Cached, PlainKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.recovery import Failure, State, classify, is_lost, recovery
from controller_runtime.cache.streamed import StreamedList
from controller_runtime.cache.transforms import Transform, transformed
from controller_runtime.client.decoding import EventType, Undecodable, WatchEvent
from controller_runtime.client.listwatch import ANY_VERSION, ListWatch
from controller_runtime.client.reachable import ServerReachable
from controller_runtime.core.backoff import Retrying
from controller_runtime.core.errors import APIError, ControllerRuntimeError, DecodeError, Expired, StreamIdle
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop

log = get_logger(__name__)

SLACK = 10.0
"""Seconds after the end that was asked for when a stream that goes on counts as dead."""

TOO_SHORT = 1.0
"""A watch that ends sooner, in seconds, without having said anything new has failed. No two begin sooner than that."""


class Sink(Protocol):
    """Where a reflector puts what it learns; called by its thread alone."""

    def kept(self, cached: Cached) -> Cached:
        """The object already there in place of an equal one."""

    def replace(self, objects: dict[PlainKey, Cached], version: str) -> object:
        """This is the whole collection now."""

    def apply(self, event: WatchEvent) -> object:
        """This changed."""


class Reflector:
    """Feeds one collection to a sink until it is stopped.

    It never gives up: whatever fails is tried again, after a growing delay or the one
    the server asked for. A stream cannot hang: silence ends it. An object that cannot
    be read is logged and skipped.

    Threads: `run` on one; the attributes are read from any.

    Args:
        host: Time and chance.
        source: The collection.
        sink: Where it goes.
        streaming: Try a streamed list before one by pages.
        patience: How long it waits for what.
        transform: What to make of each object before it is kept.
        contact: Tells when somebody else has reached the server.

    Attributes:
        patience: As given.
        state: What it is doing.
        last_error: Why the last try failed; empty once one has succeeded.
        failed_at: When a try failed last, in monotonic seconds; None for never.
        heard_at: When the server was heard of last, be it by a bookmark or by taking a watch up; before that, when
            this was made. After a watch that was silent, or told of an error, the next one must say something first.
        lists: Lists begun, streamed or paged.
        watches: Watches begun, streamed lists included.
        idle: Streams given up because they were silent.
        skipped: Objects and lines that could not be read.
    """

    def __init__(
        self,
        host: Host,
        source: ListWatch,
        sink: Sink,
        *,
        streaming: bool = True,
        patience: Patience | None = None,
        transform: Transform | None = None,
        contact: ServerReachable | None = None,
    ) -> None:
        self._host = host
        self._source = source
        self._sink = sink
        self._relist = State.STREAMING if streaming else State.LISTING
        self._transform = transform
        self.patience = patience or Patience()
        self._retrying = Retrying(self.patience.backoff, host.random)
        self._contact = contact or ServerReachable(host)
        self._was_called = False  # the last wait was cut short
        self._version = ""  # that of the last event, whatever it was: the server's order counts
        self._most_recent = False  # until a list succeeds
        self._listed_at = -float("inf")  # when the last list was begun
        self._fruitless = 0
        self._streamed: StreamedList | None = None  # as far as it has come
        self._watching_since: float | None = None
        self._is_doubtful = False  # the watch was taken up, and nothing good came of it
        self.state = self._relist
        self.last_error = ""
        self.failed_at: float | None = None
        self.heard_at = host.monotonic()
        self.lists = self.watches = self.idle = self.skipped = 0

    def run(self, stop: Stop) -> None:
        """Keep the sink in step until `stop` is set.

        Raises:
            Exception: What the sink or the transform raises: a bug of its owner's.
        """
        while not stop.is_set():
            try:
                match self.state:
                    case State.LISTING:
                        self._list(stop)
                    case State.STREAMING | State.WATCHING:
                        self._watch(stop)
            except ControllerRuntimeError as error:
                if not stop.is_set():
                    self._recover(error, stop)

    def _list(self, stop: Stop) -> None:
        self.lists += 1
        self._listed_at = self._host.monotonic()
        objects: dict[PlainKey, Cached] = {}
        version = ""
        for page in self._source.pages(self._wanted(), bounds=self.patience.lists, pause=stop.wait):
            if stop.is_set():
                return
            version = version or page.version
            for found in (*map(self._transformed, page.items), *page.undecodable):
                if isinstance(found, Undecodable):
                    self._skip(found)
                else:
                    objects[found.plain_key] = self._sink.kept(found)
        self._complete(objects, version)

    def _watch(self, stop: Stop) -> None:
        initial = self.state is State.STREAMING
        self.watches += 1
        self.lists += initial
        began = self._host.monotonic()
        if initial:
            self._listed_at = began
            self._streamed = StreamedList(self._source, self.patience.lists, self._sink.kept)
        timeout = self._host.random.uniform(*self.patience.watch)
        before = self._version
        with self._source.watch(self._wanted(), timeout=timeout, initial_events=initial) as stream:
            forget = stop.on_set(stream.close)
            self._taken_up()
            try:
                while (events := stream.read(self._deadline(began + timeout + SLACK))) is not None:
                    self._take(events)
            finally:
                forget()
        if stop.is_set():
            return
        ended = self._host.monotonic()
        if self.state is State.STREAMING:
            raise ControllerRuntimeError(f"{self._source}: the streamed list ended before it was complete")
        if self._version == before and ended - began < TOO_SHORT:
            raise ControllerRuntimeError(f"{self._source}: the watch ended at once, without saying anything new")
        self._worked_until(ended)
        stop.wait(max(0.0, began + TOO_SHORT - ended))  # so that one which ends after each event is taken up in peace

    def _taken_up(self) -> None:
        if not self._is_doubtful:
            self.heard_at = self._host.monotonic()
        if self.state is State.WATCHING:
            self._watching_since = self._host.monotonic()
            self.last_error = ""  # it may be quiet for long

    def _worked_until(self, instant: float) -> None:
        if self._watching_since is not None:
            self._retrying.worked(instant - self._watching_since)
            self._watching_since = None

    def _take(self, events: Iterator[WatchEvent | Undecodable]) -> None:
        self._heard()
        for event in events if self._transform is None else map(self._prepared, events):
            self._fruitless = 0
            if isinstance(event, Undecodable):
                self._skip(event)
            elif self._streamed is not None:
                if self._streamed.take(event):
                    self._complete(self._streamed.objects, event.version)
            else:
                self._refuse_the_past(event)
                self.last_error = ""
                self._version = event.version
                self._sink.apply(event)

    def _refuse_the_past(self, event: WatchEvent) -> None:
        """Objects may come with any version, but a server whose bookmark is behind us has gone back."""
        if event.cached is None and compare_versions(event.version, self._version) < 0:
            text = f"{self._source}: the server has reached {event.version}, though it told of {self._version} before"
            raise Expired(text, code=410)

    def _heard(self) -> None:
        self.heard_at = self._host.monotonic()
        self._is_doubtful = False

    def _complete(self, objects: dict[PlainKey, Cached], version: str) -> None:
        self._version = version
        self._streamed = None
        self._heard()
        if self.state is State.STREAMING:  # the stream goes on as a watch
            self._watching_since = self.heard_at
        self._most_recent = False
        self._fruitless = 0
        self.state = State.WATCHING
        self.last_error = ""
        self._sink.replace(objects, version)

    def _recover(self, error: ControllerRuntimeError, stop: Stop) -> None:
        self._streamed = None  # half a list is of no use, and holds memory
        self._fruitless += 1
        is_silence = isinstance(error, StreamIdle)
        self.idle += is_silence
        self.last_error = str(error)
        self.failed_at = self._host.monotonic()
        failed, failure = self.state, classify(error)
        if self._watching_since is not None:
            stood = self.failed_at - self._watching_since
            self._is_doubtful |= failure is not Failure.BUSY or stood < TOO_SHORT
        self._worked_until(self.heard_at if is_silence else self.failed_at)
        self.state, wait, most_recent = recovery(
            failed,
            failure,
            relist=self._relist,
            fruitless=self._fruitless,
            most_recent=self._most_recent,
        )
        self._most_recent = self._most_recent or most_recent
        lists_anew = failed is State.WATCHING and failure in (Failure.VERSION, Failure.EVENT)
        delay = self._delay(error, lists_anew=lists_anew) if wait else 0.0
        log.warning("list or watch failed", collection=self._source, state=failed.value, error=error, retry_in=delay)
        if delay:
            self._back_off(error, delay, stop)

    def _back_off(self, error: ControllerRuntimeError, delay: float, stop: Stop) -> None:
        """Wait; who lost the server goes on once it answers others.

        Never twice in a row: a server that answers all but this is asked twice as often, no more.
        """
        may_be_called = is_lost(error) and not self._was_called
        at_least = min(delay, self.patience.backoff.initial) if may_be_called else delay
        self._was_called = not stop.wait(at_least) and self._contact.wait(stop, delay - at_least)

    def _delay(self, error: ControllerRuntimeError, *, lists_anew: bool) -> float:
        asked = error.retry_after if isinstance(error, APIError) else None
        delay = self._retrying.next_delay()
        if lists_anew:  # the server is back, and only lists may not come too often
            since = self._host.monotonic() - self._listed_at
            delay = max(self.patience.backoff.delay(1, self._host.random), delay - since)
        return max(delay, asked or 0.0)

    def _transformed(self, cached: Cached) -> Cached | Undecodable:
        try:
            return transformed(cached, self._transform)
        except DecodeError as error:
            return Undecodable(str(error))

    def _prepared(self, event: WatchEvent | Undecodable) -> WatchEvent | Undecodable:
        if isinstance(event, Undecodable) or event.cached is None or event.type is EventType.DELETED:
            return event
        found = self._transformed(event.cached)
        return found if isinstance(found, Undecodable) else event._replace(cached=found)

    def _wanted(self) -> str:
        """The version to ask for."""
        return "" if self._most_recent else self._version or ANY_VERSION

    def _deadline(self, ends_at: float) -> float:
        """By when a line must come."""
        silence = self.patience.initial_silence if self.state is State.STREAMING else self.patience.silence
        return min(ends_at, self._host.monotonic() + silence)

    def _skip(self, undecodable: Undecodable) -> None:
        self.skipped += 1
        log.warning("object skipped", collection=self._source, error=undecodable.text)
