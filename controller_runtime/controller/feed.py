# SPDX-License-Identifier: Apache-2.0
"""Maps the changes of one collection to the requests of one controller, even if mapping fails for some objects.

A change whose predicate or mapper raises is kept and tried again, while the changes of other objects go on. It is tried
with the next change of its object, and after a growing delay on a thread of the controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import attrs

from apimachinery.errors import DecodeError, ShutDown, UsageError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey, PlainKey
from apimachinery.plain_functions import called, refuse_awaitable
from controller_runtime.api.collection import Collection
from controller_runtime.cache.store import Delta
from controller_runtime.controller.attempt import attempt
from controller_runtime.controller.failing import Failing, FailureLog, error_text
from controller_runtime.controller.handlers import Callback, Handler
from controller_runtime.controller.kept_changes import KeptChange, KeptChanges
from controller_runtime.controller.observers import NOBODY, Observers
from controller_runtime.controller.outcome import is_bug
from controller_runtime.controller.panics import Panic
from controller_runtime.controller.predicates import Predicate
from controller_runtime.controller.reconciler import Request
from controller_runtime.queue.rate_limiters import ItemExponential
from controller_runtime.queue.workqueue import WorkQueue

if TYPE_CHECKING:  # it needs a package that a program without tracing need not have
    from controller_runtime.controller.tracing import Tracing

log = get_logger(__name__)

FIRST_DELAY = 0.1
"""Seconds before the second try. The most frequent cause of a failure is another cache that the mapper reads and that
is a little behind.
"""

LONGEST_DELAY = 300.0
"""The longest delay between two tries in seconds. A mapper that failed may succeed without a new change of its object
only because other data that it reads has changed.
"""

TRIES_OF_DELETED = 12
"""The most tries to map the deletion of an object, over about seven minutes. Without a limit, all failing objects that
were ever deleted would fill the memory.
"""


class Retries:
    """Maps failed changes again, each after its own delay. Each controller has one instance.

    Args:
        host: The source of time and locks.
        name: The controller's name.

    Threads: any; `run` on its own thread.
    """

    def __init__(self, host: Host, name: str) -> None:
        limiter = ItemExponential(FIRST_DELAY, LONGEST_DELAY)
        self._queue: WorkQueue[tuple[Feed, PlainKey]] = WorkQueue(host, name=f"{name}/retries", limiter=limiter)
        # Guards the field below.
        self._lock = host.lock(f"retries of {name}")
        self._is_started = False

    def start(self, spawn: Callable[[str, Callable[[], None]], None]) -> None:
        """Start the thread by `spawn`, unless it has been started.

        It is not started at the first failure, because that happens under an informer's lock, where no thread may be
        started.
        """
        with self._lock:
            was_started, self._is_started = self._is_started, True
        if not was_started:
            spawn("retries", self.run)

    def run(self) -> None:
        """Map changes again when they are due, until `shut_down`."""
        while True:
            try:
                item = self._queue.get()
            except ShutDown:
                return
            feed, key = item
            try:
                feed.retry(key)
            finally:
                self._queue.done(item)

    def shut_down(self) -> None:
        """Stop trying, and end `run`."""
        self._queue.shut_down()

    def add(self, feed: Feed, key: PlainKey) -> None:
        """Schedule another try for the failed change of an object; the delay grows up to `LONGEST_DELAY`."""
        self._queue.add_rate_limited((feed, key))

    def forget(self, feed: Feed, key: PlainKey) -> None:
        """Let the delays for an object begin again with the first one."""
        self._queue.forget((feed, key))


class Feed:
    """Maps the changes of one collection to requests for one queue.

    Args:
        host: Creates the lock.
        controller: The controller's name.
        collection: The collection.
        when: A predicate that selects the changes; None for all changes.
        mapper: Maps a change to requests.
        queue: The queue of the requests.
        retries: Tries kept changes again.
        observers: Receive each unexpected error of a change that has not failed before (under the delivery lock), and
            each change that causes requests.

    Threads: `handle` one at a time, under the delivery lock of the informer; `retry` on the thread of `retries`; the
    other methods any.
    """

    def __init__(
        self,
        host: Host,
        controller: str,
        collection: Collection,
        when: Predicate | None,
        mapper: Handler,
        queue: WorkQueue[Request],
        retries: Retries,
        observers: Observers = NOBODY,
    ) -> None:
        self.kind = collection.resource.kind
        self._when = when
        self._add = adder(queue, collection, mapper, observers.tracing)
        self._retries = retries
        self._on_panic = observers.on_panic
        self._log = FailureLog(controller, "change cannot be mapped")
        self._controller = controller
        # Guards the kept changes and the count of errors. It is not held while user code runs: the two threads that
        # may try the same change compare it with the kept one afterwards.
        self._lock = host.lock(f"kept changes of {collection} for {controller}")
        self._kept = KeptChanges()
        self.errors = 0

    def handle(self, delta: Delta) -> None:
        """Map a changed object to requests by the controller's mapper, and queue them.

        If the predicate or the mapper fails, the change is kept and mapped again later. If a change of the object is
        kept already, this one is merged into it, and the result is mapped at once.
        """
        key = delta.object.plain_key
        if not self._kept.is_kept(key):
            attempt(partial(self._map, delta), partial(self._keep, delta))
            return
        with self._lock:
            merged = self._kept.merge(delta)
        if merged is None:  # the kept change has just been mapped, on the other thread
            self.handle(delta)
            return
        if merged.is_deleted:  # from now on the tries are counted, so their delays begin with the first one
            self._retries.forget(self, key)
        self._try(merged)

    def retry(self, key: PlainKey) -> None:
        """Map the kept change of an object again, if there is one."""
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None:
            self._try(kept)

    def failing(self, limit: int) -> tuple[int, list[Failing]]:
        """Return the number of objects with a kept change, and up to `limit` of them."""
        with self._lock:
            count, first = len(self._kept), self._kept.first(limit)
        return count, [Failing(self.kind, kept.last.key, kept.failures, kept.error) for kept in first]

    def _map(self, delta: Delta, *, is_late: bool = False) -> None:
        if self._matters(delta):
            self._add(delta, is_late)

    def _matters(self, delta: Delta) -> bool:
        try:
            return self._when is None or called("when", self._when, delta)
        # A change that cannot be read cannot be judged either. The reconcile finds out, and tells the object's owners.
        except DecodeError:
            return True

    def _keep(self, delta: Delta, error: BaseException) -> None:
        kept = KeptChange.of(delta).after_failure(error_text(error))
        with self._lock:
            self.errors += 1
            failing = len(self._kept) + 1
        is_told = self._log.failed(error, failing, 1, kind=self.kind, key=delta.key)
        with self._lock:
            self._kept.keep(attrs.evolve(kept, is_told=is_told))
        self._retries.add(self, delta.object.plain_key)
        if is_bug(error):
            self._on_panic(Panic(self._controller, delta.key, error, "mapper or predicate"))

    def _try(self, kept: KeptChange) -> None:
        """Map the kept changes of one object; stop at the first that fails."""
        rest: KeptChange | None = kept
        while rest is not None:
            trying = rest
            if not attempt(partial(self._map, trying.delta, is_late=True), partial(self._failed, kept, trying)):
                return
            rest = trying.after_success()
        if self._settle(kept, None):
            tell = log.info if kept.is_told else log.debug
            tell("failing change is mapped", **self._fields(kept), failures=kept.failures)

    def _failed(self, kept: KeptChange, trying: KeptChange, error: BaseException) -> None:
        left = trying.after_failure(error_text(error))
        self._log.failed(error, 0, left.failures, kind=self.kind, key=kept.last.key)
        with self._lock:
            self.errors += 1
        if left.tries_of_deletion < TRIES_OF_DELETED:
            if self._settle(kept, left):
                self._retries.add(self, kept.last.plain_key)
        elif self._settle(kept, None):
            tell = log.error if kept.is_told else log.debug
            tell("deletion is given up: it cannot be mapped", **self._fields(kept), error=left.error)

    def _settle(self, tried: KeptChange, left: KeptChange | None) -> bool:
        with self._lock:
            is_current = self._kept.settle(tried, left)
        if is_current and left is None:
            self._retries.forget(self, tried.last.plain_key)
        return is_current

    def _fields(self, kept: KeptChange) -> dict[str, object]:
        return {"controller": self._controller, "kind": self.kind, "key": kept.last.key}


def adder(
    queue: WorkQueue[Request], collection: Collection, requests_of: Callback, tracing: Tracing | None = None
) -> Callable[[Delta, bool], None]:
    """Return a function that queues the requests of a delta, with low priority for deltas of the initial list.

    The function's second argument is True if mapping the delta failed at first. The function raises `UsageError` if
    `requests_of` returns something other than requests.

    Args:
        queue: The queue.
        collection: The collection of the deltas, for the causes of requests.
        requests_of: Returns the requests of a delta.
        tracing: Makes a span of each delta with requests, except for the initial list; None makes none.
    """
    plural = collection.resource.plural
    listed, added, changed, deleted = (f"{plural} {how}" for how in ("listed", "added", "changed", "deleted"))

    def add(delta: Delta, is_late: bool) -> None:
        if delta.initial:
            cause = listed
        elif delta.old is None:
            cause = added
        else:
            cause = changed if delta.new is not None else deleted
        if is_late:
            cause += ", mapped after failures"
        obj = delta.object
        key, version = obj.plain_key, obj.resource_version
        is_traced = tracing is not None and not delta.initial
        for request in checked(requests_of(delta), requests_of):
            if is_traced and tracing is not None:  # before the request, which a worker may take at once
                tracing.changed(cause, collection, obj)
                is_traced = False
            queue.add(request, low=delta.initial, cause=cause, key=key, version=version)

    return add


def checked(requests: object, source: Callable[..., object]) -> Iterator[Request]:
    """Yield the requests that a user's function returned.

    Args:
        requests: The result of the function.
        source: The function, for the message.

    Raises:
        UsageError: The result is not an iterable of requests; the message names the function.
    """
    remedy = "return a list of Request(name, namespace)"
    name = f"{getattr(source, '__module__', '')}.{getattr(source, '__qualname__', type(source).__qualname__)}"
    if isinstance(requests, str) or not hasattr(requests, "__iter__"):
        refuse_awaitable("a source of requests", source, requests, remedy)
        raise UsageError(f"{name} returned {requests!r}, which is not a list of requests: {remedy}")
    for request in requests:
        if not isinstance(request, ObjectKey):
            raise UsageError(f"{name} returned {request!r}, which is not a Request: {remedy}")
        yield request
