# SPDX-License-Identifier: Apache-2.0
"""Where a controller's requests come from: changes of collections, the passing of time, and (`channel.py`) the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import attrs

from controller_runtime.api.resources import Resource
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Delta
from controller_runtime.controller.handlers import Handler
from controller_runtime.controller.predicates import Predicate
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.errors import DecodeError
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.queue.workqueue import WorkQueue

log = get_logger(__name__)


@attrs.frozen
class Collection:
    """What to list and watch; equal ones share one informer."""

    resource: Resource[Any]
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    linger: float = 0.0

    def __str__(self) -> str:
        return str(self.resource)

    def informer(self, informers: Informers) -> Informer:
        """Its informer; made, and started if the others are, when asked for first."""
        return informers.of(
            self.resource,
            namespace=self.namespace,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            linger=self.linger,
        )


Synced = Callable[[Stop, float | None], bool]
"""Wait until the initial list is in the queue, a deadline (absolute monotonic seconds) or a stop; whether it is."""


@attrs.frozen
class Intake:
    """What the sources of one started controller feed, and may use.

    Attributes:
        name: The controller's.
        host: What it runs on.
        informers: Where collections come from.
        queue: What to feed.
        stop: Ends them.
        threads: Those that sources have of their own.
    """

    name: str
    host: Host
    informers: Informers
    queue: WorkQueue[Request]
    stop: Stop
    threads: list[Thread] = attrs.field(factory=list, init=False)

    def spawn(self, name: str, target: Callable[[], None]) -> None:
        """Give a source a thread, which must end when `stop` is set."""
        self.threads.append(spawn(self.host, self.stop, f"{self.name}/{name}", target))


class Source(Protocol):
    """Feeds the queue of one controller."""

    @property
    def collection(self) -> Collection | None:
        """What must be cached before it is attached, if anything."""

    def attach(self, intake: Intake) -> Synced:
        """Start to feed the queue."""


@attrs.frozen
class Watch:
    """Requests by a pure mapping of the changes that a predicate lets pass."""

    collection: Collection
    when: Predicate | None
    map: Handler

    def attach(self, intake: Intake) -> Synced:
        """Add a handler; it runs as the informer delivers. One malformed object does not stop the program."""
        feed = _feed(intake.queue, self.collection, self.map)

        def handle(delta: Delta) -> None:
            if self._matters(delta):
                try:
                    feed(delta)
                except DecodeError as error:
                    log.warning("change left out: the object cannot be read", controller=intake.name, error=error)

        return self.collection.informer(intake.informers).add_handler(handle).wait_for_sync

    def _matters(self, delta: Delta) -> bool:
        try:
            return self.when is None or self.when(delta)
        except DecodeError:  # perhaps just the old side, which is mended now: the reconciler will see
            return True


@attrs.frozen
class Follow:
    """Requests by a callback that may remember and act, on a thread of its own."""

    collection: Collection
    callback: Handler

    def attach(self, intake: Intake) -> Synced:
        """Subscribe; the callback sees every change once, in order."""
        feed = _feed(intake.queue, self.collection, self.callback)
        name = f"{intake.name}/follow-{self.collection.resource.plural}"
        return self.collection.informer(intake.informers).subscribe(feed, name=name).wait_for_sync


@attrs.frozen
class Every:
    """Requests as time passes, on a thread of its own that sleeps in between."""

    seconds: float
    requests: Callable[[], Iterable[Request]]
    jitter: float
    collection: None = attrs.field(default=None, init=False)

    def attach(self, intake: Intake) -> Synced:
        """Ask for requests now, and again each time that the period has passed since they were queued."""
        cause = f"every {self.seconds:g} s"

        def tick() -> None:
            for request in self.requests():
                intake.queue.add(request, low=True, cause=cause)

        def run() -> None:
            tick()
            while not intake.stop.wait(self.seconds * (1.0 + intake.host.random.random() * self.jitter)):
                tick()

        intake.spawn("every", run)
        return at_once


def at_once(stop: Stop, deadline: float | None) -> bool:
    """The `Synced` of a source that has no initial list."""
    return True


def _feed(queue: WorkQueue[Request], collection: Collection, handler: Handler) -> Callable[[Delta], None]:
    """A function that adds what a delta causes; what was there from the beginning goes to the low band."""
    plural = collection.resource.plural
    listed, added, changed, deleted = (f"{plural} {how}" for how in ("listed", "added", "changed", "deleted"))

    def feed(delta: Delta) -> None:
        if delta.initial:
            cause = listed
        elif delta.old is None:
            cause = added
        else:
            cause = changed if delta.new is not None else deleted
        requests: Iterable[Request] = handler(delta)
        for request in requests:
            queue.add(request, low=delta.initial, cause=cause)

    return feed
