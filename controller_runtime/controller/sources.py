# SPDX-License-Identifier: Apache-2.0
"""Where a controller's requests come from: collections, and what to make of their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import attrs

from controller_runtime.api.objects import Request
from controller_runtime.api.resources import Resource
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Delta
from controller_runtime.controller.handlers import Handler
from controller_runtime.controller.predicates import Predicate
from controller_runtime.core.errors import DecodeError
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.queue.workqueue import WorkQueue

log = get_logger(__name__)


@attrs.frozen
class Collection:
    """What to list and watch; equal ones share one informer."""

    resource: Resource[Any]
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""

    def informer(self, informers: Informers) -> Informer:
        """Its informer; made, and started if the others are, when asked for first."""
        return informers.of(
            self.resource,
            namespace=self.namespace,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
        )


Synced = Callable[[Stop, float | None], bool]
"""Wait until the initial list is in the queue, a deadline (absolute monotonic seconds) or a stop; whether it is."""


class Source(Protocol):
    """Feeds one queue from one collection."""

    @property
    def collection(self) -> Collection:
        """Which one."""

    def attach(self, informer: Informer, queue: WorkQueue[Request], name: str) -> Synced:
        """Start to feed `queue`; `name` is the controller's."""


@attrs.frozen
class Watch:
    """Requests by a pure mapping of the changes that a predicate lets pass."""

    collection: Collection
    when: Predicate | None
    map: Handler

    def attach(self, informer: Informer, queue: WorkQueue[Request], name: str) -> Synced:
        """Add a handler; it runs as the informer delivers. One malformed object does not stop the program."""
        feed = _feed(queue, self.collection, self.map)

        def handle(delta: Delta) -> None:
            if self._matters(delta):
                try:
                    feed(delta)
                except DecodeError as error:
                    log.warning("change left out: the object cannot be read", controller=name, error=error)

        return informer.add_handler(handle).wait_for_sync

    def _matters(self, delta: Delta) -> bool:
        try:
            return self.when is None or self.when(delta.old, delta.new)
        except DecodeError:  # perhaps just the old side, which is mended now: the reconciler will see
            return True


@attrs.frozen
class Follow:
    """Requests by a callback that may remember and act, on a thread of its own."""

    collection: Collection
    callback: Handler

    def attach(self, informer: Informer, queue: WorkQueue[Request], name: str) -> Synced:
        """Subscribe; the callback sees every change once, in order."""
        feed = _feed(queue, self.collection, self.callback)
        return informer.subscribe(feed, name=f"{name}/follow-{self.collection.resource.plural}").wait_for_sync


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
