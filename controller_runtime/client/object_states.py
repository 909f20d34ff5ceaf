# SPDX-License-Identifier: Apache-2.0
"""The states of one object, one after another: from a watch of only this object, or else from repeated reads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from apimachinery.errors import (
    APIError,
    ConnectionLost,
    DecodeError,
    Expired,
    ServerError,
    StreamIdle,
    TooManyRequests,
)
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.objects import Cached
from apimachinery.stop import Stop
from controller_runtime.client.deadlines import limit_of
from controller_runtime.client.decoding import EventType, Undecodable
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.transport import Transport
from controller_runtime.core.backoff import Backoff

POLL_INTERVAL = 1.0
"""Seconds between two reads of an object that cannot be watched."""

_SILENCE = 150.0  # seconds without a line, after which a watch counts as dead: a server sends a bookmark each minute
_CANNOT_WATCH = (400, 403, 405)  # a server does not select by name here, or does not let this client list or watch
_PASSING = (ConnectionLost, Expired, ServerError, TooManyRequests)
_BACKOFF = Backoff(initial=0.25, factor=2.0, cap=5.0, jitter=1.0)


class ObjectStates:
    """An iterator over the current and each later state of an object (None while absent), until a time.

    Between two connections states may be missed, but never the last one. Transient failures are retried after a growing
    delay.

    Args:
        host: The source of the time and of the randomness of the delays.
        transport: The transport of `objects`; its limits (see `deadlines.limit_of`) also bound an open watch.
        objects: Lists and watches only this object, selected by its name.
        read: Reads the object, for a server that does not allow to watch it; returns None if the object is absent.
        end: The time at which the iterator ends, in monotonic seconds of the host.

    Attributes:
        error: The last failure that was retried; None if nothing has failed since the last state.

    Threads: one.
    """

    def __init__(
        self, host: Host, transport: Transport, objects: ListWatch, read: Callable[[], Cached | None], end: float
    ) -> None:
        self.error: Exception | None = None
        self._host = host
        self._transport = transport
        self._objects = objects
        self._question = HTTPRequest("GET", objects.collection.path)
        self._read = read
        self._end = end
        self._asleep = Stop(host, f"wait for {objects}")

    def __iter__(self) -> Generator[Cached | None]:
        follow = self._watched
        failures = 0
        while self._step_end() > self._host.monotonic():
            try:
                for cached in follow():
                    self.error, failures = None, 0
                    yield cached
            except _PASSING as error:
                self.error = error
            except APIError as error:
                if error.code not in _CANNOT_WATCH or follow == self._polled:
                    raise
                follow = self._polled
                continue
            failures += 1
            self._sleep(_BACKOFF.delay(failures, self._host.random))

    def _watched(self) -> Iterator[Cached | None]:
        """Yield the object as a list has it, then as each event of a watch has it, until the watch ends."""
        page = self._objects.list()
        if page.undecodable:
            raise DecodeError(f"{self._objects}: {page.undecodable[0].text}")
        yield page.items[0] if page.items else None
        left = self._end - self._host.monotonic()
        with self._objects.watch(page.version, timeout=max(1.0, left)) as stream:
            while True:
                silent_at, step_end = self._host.monotonic() + _SILENCE, self._step_end()
                try:
                    events = stream.read(min(silent_at, step_end))
                except StreamIdle:
                    if step_end < silent_at:  # not the server's fault; a limit may have moved meanwhile
                        return
                    raise
                if events is None:
                    return
                for event in events:
                    if isinstance(event, Undecodable):
                        raise DecodeError(f"{self._objects}: {event.text}")
                    if event.type is not EventType.BOOKMARK:
                        yield None if event.type is EventType.DELETED else event.cached

    def _polled(self) -> Iterator[Cached | None]:
        """Yield the object as each of many reads finds it."""
        while True:
            yield self._read()
            self._sleep(POLL_INTERVAL)
            if self._step_end() <= self._host.monotonic():
                return

    def _step_end(self) -> float:
        """Return when the next wait has to end; raise what a limit of the transport raises once it has passed."""
        limit = limit_of(self._transport, self._question)
        return self._end if limit is None else min(self._end, limit)

    def _sleep(self, seconds: float) -> None:
        self._asleep.wait_until(min(self._host.monotonic() + seconds, self._step_end()))
