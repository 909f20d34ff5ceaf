# SPDX-License-Identifier: Apache-2.0
"""The sources of a controller's requests: changes of collections, time, and (in `channel.py`) user code."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Protocol

import attrs

from apimachinery.host import Host, Thread
from apimachinery.stop import Stop, spawn
from controller_runtime.api.collection import Collection
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.controller.attempt import attempt
from controller_runtime.controller.failing import Failing, FailureLog, Fallible, error_text
from controller_runtime.controller.feed import LONGEST_DELAY, Feed, Retries, adder, checked
from controller_runtime.controller.handlers import Callback, Handler, enqueue_object
from controller_runtime.controller.observers import NOBODY, Observers
from controller_runtime.controller.outcome import is_bug
from controller_runtime.controller.panics import OnPanic, Panic, ignore_panic
from controller_runtime.controller.predicates import Predicate
from controller_runtime.controller.reconciler import Request
from controller_runtime.queue.workqueue import WorkQueue

Synced = Callable[[Stop, float | None], bool]
"""Waits until the initial list is in the queue, a stop is set or a deadline (absolute monotonic seconds) has passed.

It returns True if the list is in the queue.
"""


@attrs.frozen
class Intake:
    """The queue of one started controller, with the other parts that its sources use.

    Attributes:
        name: The controller's name.
        host: The source of time, threads and randomness.
        informers: Makes the informers of collections.
        queue: The queue to which sources add requests.
        stop: Ends the sources.
        observers: Receive changes, and unexpected errors of mappers and predicates.
        threads: The threads that `spawn` has started.
        fallible: The sources whose user code may fail without stopping the manager.
        retries: Maps failed changes again.
    """

    name: str
    host: Host
    informers: Informers
    queue: WorkQueue[Request]
    stop: Stop
    observers: Observers = NOBODY
    threads: list[Thread] = attrs.field(factory=list, init=False)
    fallible: list[Fallible] = attrs.field(factory=list, init=False)
    retries: Retries = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        # `attrs` has no default that is made of two other fields.
        object.__setattr__(self, "retries", Retries(self.host, self.name))
        self.stop.on_set(self.retries.shut_down)

    def spawn(self, name: str, target: Callable[[], None]) -> None:
        """Start a thread for a source. `target` must return when `stop` is set; its error is passed to `stop.fail`."""
        self.threads.append(spawn(self.host, self.stop, f"{self.name}/{name}", target))


class Source(Protocol):
    """A source of requests for the queue of one controller."""

    @property
    def collection(self) -> Collection | None:
        """The collection that must be cached before the source is attached; None if the source needs no cache."""

    def attach(self, intake: Intake) -> Synced:
        """Start to add requests to the queue; return a function that waits until the initial list is in the queue."""


@attrs.frozen
class Watch:
    """A source that maps changes to requests by a pure function; see `Controller.watch`."""

    collection: Collection
    when: Predicate | None
    map: Handler

    @property
    def inspects(self) -> bool:
        """Whether a predicate or a mapper reads more of a change than the object's key."""
        return self.when is not None or self.map is not enqueue_object

    def attach(self, intake: Intake) -> Synced:
        """Add a handler to the informers; return a function that waits for the initial list.

        The handler runs on the calling thread for objects that are cached already, then on the informer's thread.
        If the predicate or the mapper raises, the change is kept and tried again; other changes are not delayed.
        """
        intake.retries.start(intake.spawn)
        waits = [self._feed(intake, informer) for informer in self.prepare(intake.informers)]
        return lambda stop, deadline: all(wait(stop, deadline) for wait in waits)

    def _feed(self, intake: Intake, informer: Informer) -> Synced:
        feed = Feed(
            intake.host,
            intake.name,
            self.collection,
            self.when,
            self.map,
            intake.queue,
            intake.retries,
            intake.observers,
        )
        intake.fallible.append(feed)
        return informer.add_handler(feed.handle).wait_for_sync

    def prepare(self, informers: Informers) -> list[Informer]:
        """Make the missing informers of the collection, one for each namespace of its scope, and return all of them."""
        return informers.each(self.collection)


@attrs.frozen
class Follow:
    """A source whose callback may keep state and have side effects; see `Controller.follow`."""

    collection: Collection
    callback: Callback
    linger: float = 0.0
    inspects: bool = attrs.field(default=True, init=False)

    def attach(self, intake: Intake) -> Synced:
        """Subscribe the callback to the collection; return a function that waits for the initial list.

        The callback gets every change once, in order, on a separate thread.
        """
        add = adder(intake.queue, self.collection, self.callback, intake.observers.tracing)
        name = f"{intake.name}/follow-{self.collection.resource.plural}"
        [informer] = self.prepare(intake.informers)
        return informer.subscribe(lambda delta: add(delta, False), name=name).wait_for_sync

    def prepare(self, informers: Informers) -> list[Informer]:
        """Return the informer of the collection; make it if there is none yet.

        Raises:
            UsageError: The manager caches the kind in several namespaces, so there is no single order of changes.
        """
        return [informers.of(self.collection, linger=self.linger)]


@attrs.frozen
class Every:
    """A source of periodic requests, made on a separate thread; see `Controller.every`."""

    seconds: float
    requests: Callable[[], Iterable[Request]]
    jitter: float
    collection: None = attrs.field(default=None, init=False)

    def attach(self, intake: Intake) -> Synced:
        """Queue the requests now and after each period, on a new thread."""
        ticks = Ticks(intake.name, self, intake.queue, intake.observers.on_panic)
        intake.fallible.append(ticks)

        def run() -> None:
            while not intake.stop.wait(ticks.tick(intake.host.random)):
                pass

        intake.spawn("every", run)
        return already_synced


class Ticks:
    """Makes the requests of one `Every`.

    If the function raises, nothing is lost, because the next call requests everything again. The next call then comes
    after a growing delay, if that is shorter than the period. A bug is reported to `on_panic` at the first failure in a
    row.

    Threads: `tick` on one; the other methods any.
    """

    kind = ""

    def __init__(
        self, controller: str, every: Every, queue: WorkQueue[Request], on_panic: OnPanic = ignore_panic
    ) -> None:
        self._controller = controller
        self._on_panic = on_panic
        self._every = every
        self._queue = queue
        self._cause = f"every {every.seconds:g} s"
        self._log = FailureLog(controller, "periodic requests failed")
        self._failing: Failing | None = None
        self.errors = 0

    def tick(self, chance: random.Random) -> float:
        """Queue the requests, and return the seconds until the next call."""
        if attempt(self._add, self._failed):
            self._failing = None
        delay = self._every.seconds * (1.0 + chance.random() * self._every.jitter)
        if self._failing is None:
            return delay
        return min(delay, LONGEST_DELAY, 2.0 ** min(self._failing.failures - 1, 10))

    def failing(self, limit: int) -> tuple[int, list[Failing]]:
        """Return 1 and the failure if the last call failed; otherwise 0 and an empty list."""
        failing = self._failing
        return (0, []) if failing is None else (1, [failing][:limit])

    def _add(self) -> None:
        for request in checked(self._every.requests(), self._every.requests):
            self._queue.add(request, low=True, cause=self._cause)

    def _failed(self, error: BaseException) -> None:
        self.errors += 1
        failures = 1 if self._failing is None else self._failing.failures + 1
        self._failing = Failing("", None, failures, error_text(error))
        self._log.failed(error, 1, failures, every=self._every.seconds)
        if failures == 1 and is_bug(error):
            self._on_panic(Panic(self._controller, None, error, "periodic function"))


def already_synced(stop: Stop, deadline: float | None) -> bool:
    """Return True: the source has no initial list to wait for; see `Synced`."""
    return True
