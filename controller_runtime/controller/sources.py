# SPDX-License-Identifier: Apache-2.0
"""The sources of a controller's requests: changes of collections, time, and (in `channel.py`) user code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import attrs

from controller_runtime.api.collection import Collection
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Delta
from controller_runtime.controller.handlers import Callback, Handler
from controller_runtime.controller.predicates import Predicate
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.errors import DecodeError
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.queue.workqueue import WorkQueue

log = get_logger(__name__)


Synced = Callable[[Stop, float | None], bool]
"""Waits until the initial list is in the queue, a stop is set or a deadline (absolute monotonic seconds) has passed.

It returns True if the list is in the queue.
"""


@attrs.frozen
class Intake:
    """The queue of one started controller, with all that its sources may use.

    Attributes:
        name: The controller's name.
        host: Its clock, threads and randomness.
        informers: Makes the informers of collections.
        queue: The queue that sources feed.
        stop: Ends the sources.
        threads: The threads that `spawn` has started.
    """

    name: str
    host: Host
    informers: Informers
    queue: WorkQueue[Request]
    stop: Stop
    threads: list[Thread] = attrs.field(factory=list, init=False)

    def spawn(self, name: str, target: Callable[[], None]) -> None:
        """Start a thread for a source. `target` must return when `stop` is set; its error is passed to `stop.fail`."""
        self.threads.append(spawn(self.host, self.stop, f"{self.name}/{name}", target))


class Source(Protocol):
    """A source of requests: feeds the queue of one controller."""

    @property
    def collection(self) -> Collection | None:
        """The collection that must be cached before the source is attached; None if the source needs no cache."""

    def attach(self, intake: Intake) -> Synced:
        """Start to feed the queue, and return a function that waits until the initial list is in the queue."""


@attrs.frozen
class Watch:
    """Requests from a pure mapping of changes; see `Controller.watch`."""

    collection: Collection
    when: Predicate | None
    map: Handler

    def attach(self, intake: Intake) -> Synced:
        """Add a handler, which runs on the informer's thread. A malformed object is logged and left out.

        Anything else that the predicate or the mapping raises is a bug, and stops the manager.
        """
        feed = _feed(intake.queue, self.collection, self.map)

        def handle(delta: Delta) -> None:
            if self._matters(delta):
                try:
                    feed(delta)
                except DecodeError as error:
                    log.warning("change left out: the object cannot be read", controller=intake.name, error=error)

        return self.informer(intake.informers).add_handler(handle).wait_for_sync

    def informer(self, informers: Informers) -> Informer:
        """Return the informer of the collection, after making it if none exists yet."""
        return informers.of(self.collection)

    def _matters(self, delta: Delta) -> bool:
        try:
            return self.when is None or self.when(delta)
        # Perhaps only the old state is malformed, and the new one repairs it: the reconciler will see.
        except DecodeError:
            return True


@attrs.frozen
class Follow:
    """Requests from a callback that may keep state and have side effects; see `Controller.follow`."""

    collection: Collection
    callback: Callback
    linger: float = 0.0

    def attach(self, intake: Intake) -> Synced:
        """Subscribe the callback to the collection: it gets every change once, in order, on a thread of its own."""
        feed = _feed(intake.queue, self.collection, self.callback)
        name = f"{intake.name}/follow-{self.collection.resource.plural}"
        return self.informer(intake.informers).subscribe(feed, name=name).wait_for_sync

    def informer(self, informers: Informers) -> Informer:
        """Return the informer of the collection, after making it if none exists yet."""
        return informers.of(self.collection, linger=self.linger)


@attrs.frozen
class Every:
    """Periodic requests, made on a thread of its own; see `Controller.every`."""

    seconds: float
    requests: Callable[[], Iterable[Request]]
    jitter: float
    collection: None = attrs.field(default=None, init=False)

    def attach(self, intake: Intake) -> Synced:
        """Queue the requests now, and again each time that the period has passed since."""
        cause = f"every {self.seconds:g} s"

        def tick() -> None:
            for request in self.requests():
                intake.queue.add(request, low=True, cause=cause)

        def run() -> None:
            tick()
            while not intake.stop.wait(self.seconds * (1.0 + intake.host.random.random() * self.jitter)):
                tick()

        intake.spawn("every", run)
        return already_synced


def already_synced(stop: Stop, deadline: float | None) -> bool:
    """Return True at once, because the source has no initial list to wait for; see `Synced`."""
    return True


def _feed(queue: WorkQueue[Request], collection: Collection, requests_of: Callback) -> Callable[[Delta], None]:
    """Return a function that queues the requests for a delta, with low priority if the delta is of the initial list."""
    plural = collection.resource.plural
    listed, added, changed, deleted = (f"{plural} {how}" for how in ("listed", "added", "changed", "deleted"))

    def feed(delta: Delta) -> None:
        if delta.initial:
            cause = listed
        elif delta.old is None:
            cause = added
        else:
            cause = changed if delta.new is not None else deleted
        for request in requests_of(delta):
            queue.add(request, low=delta.initial, cause=cause)

    return feed
