# SPDX-License-Identifier: Apache-2.0
"""A controller: which changes concern it, and the reconciler that answers them.

It is a description until it is started; then it has a queue, sources that feed it and
workers that empty it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import attrs

from controller_runtime.api.objects import Request
from controller_runtime.api.resources import Resource
from controller_runtime.cache.informers import Informers
from controller_runtime.controller.counters import ReconcileCounters
from controller_runtime.controller.handlers import Handler, enqueue_object
from controller_runtime.controller.predicates import Predicate
from controller_runtime.controller.reconciler import Reconciler
from controller_runtime.controller.sources import Collection, Follow, Source, Watch
from controller_runtime.controller.workers import Workers
from controller_runtime.core.errors import CacheSyncTimeout, UsageError
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.stop import Stop
from controller_runtime.queue.counters import QueueCounters
from controller_runtime.queue.rate_limiters import RateLimiter
from controller_runtime.queue.turns import Turn
from controller_runtime.queue.workqueue import WorkQueue


@attrs.frozen
class _Running:
    """What a controller has once it is started."""

    queue: WorkQueue[Request]
    workers: Workers


class Controller:
    """Reconciles what its sources request, one request at a time per name, `workers` at a time in all.

    What was there from the beginning is reconciled too, but behind whatever happens
    meanwhile. It runs once, with one manager.

    Args:
        name: What logs, threads and metrics call it; unique in its manager.
        reconciler: Does the work.
        workers: How many requests are reconciled at the same time.
        limiter: How long failed requests wait, for this controller alone; by default
            each request on its own, 5 ms doubling to 1000 s.

    Raises:
        ValueError: No name, or less than one worker.

    Threads: it is described and started from one; the counts may be read from any.
    """

    def __init__(
        self, name: str, reconciler: Reconciler, *, workers: int = 1, limiter: RateLimiter | None = None
    ) -> None:
        if not name:
            raise ValueError("a controller needs a name")
        if workers < 1:
            raise ValueError(f"{name}: workers ({workers}) must be at least 1")
        self.name = name
        self.workers = workers
        self._reconciler = reconciler
        self._limiter = limiter
        self._sources: list[Source] = []
        self._running: _Running | None = None

    def watch(
        self,
        resource: Resource[Any],
        when: Predicate | None = None,
        map: Handler = enqueue_object,  # noqa: A002  the field's word
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Self:
        """Let changes of a collection cause requests.

        Args:
            resource: The collection.
            when: Which changes count; None is all of them.
            map: The requests that a change causes; by default, the object itself.
            namespace: Only this one; empty is all of them.
            label_selector: Only objects that it matches, as the server sees it.
            field_selector: The same for fields.

        Returns:
            The controller, to go on describing it.
        """
        return self._add(Watch(Collection(resource, namespace, label_selector, field_selector), when, map))

    def follow(
        self,
        resource: Resource[Any],
        callback: Handler,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Self:
        """Let a callback that may remember and act see every change once, in order.

        It runs on a thread of its own. No worker starts before it has seen the whole
        initial list. What it returns is requested.

        Args:
            resource: The collection.
            callback: Called for each change. What it raises stops the program, for what it
                remembers may be wrong from then on.
            namespace: As for `watch`.
            label_selector: As for `watch`.
            field_selector: As for `watch`.

        Returns:
            The controller, to go on describing it.
        """
        return self._add(Follow(Collection(resource, namespace, label_selector, field_selector), callback))

    @property
    def collections(self) -> Iterable[Collection]:
        """What it watches and follows."""
        return [source.collection for source in self._sources]

    @property
    def reconciles(self) -> int:
        """How many reconciles have ended."""
        return self._running.workers.counters().reconciles if self._running else 0

    @property
    def errors(self) -> int:
        """How many of them failed."""
        return self._running.workers.counters().errors if self._running else 0

    @property
    def queued(self) -> int:
        """How many requests could be taken now."""
        return len(self._running.queue) if self._running else 0

    def counters(self) -> tuple[ReconcileCounters, QueueCounters] | None:
        """All that is counted of its reconciles and of its queue; None before it is started."""
        return (self._running.workers.counters(), self._running.queue.counters()) if self._running else None

    def turns(self, limit: int) -> list[Turn[Request]]:
        """Copies of the turns of all requests that are reconciled now and of up to `limit` others, to look at."""
        return self._running.queue.turns(limit) if self._running else []

    def start(self, host: Host, informers: Informers, stop: Stop, sync_deadline: float) -> None:
        """Attach the sources, wait until they have delivered their initial lists, start the workers.

        `stop` may be set while this waits; then the workers find nothing to do.

        Args:
            host: What it runs on.
            informers: Where its collections come from.
            stop: Ends it, and is told when it fails.
            sync_deadline: Absolute monotonic seconds.

        Raises:
            UsageError: It was started before.
            CacheSyncTimeout: A source has not delivered its initial list by `sync_deadline`.
        """
        if self._running is not None:
            raise UsageError(f"controller {self.name} was started more than once")
        queue: WorkQueue[Request] = WorkQueue(host, name=self.name, limiter=self._limiter)
        workers = Workers(host, self.name, self._reconciler, queue, stop)
        self._running = _Running(queue, workers)
        stop.on_set(queue.shut_down)
        attached = [(s, s.attach(s.collection.informer(informers), queue, self.name)) for s in self._sources]
        for source, synced in attached:
            if not synced(stop, sync_deadline) and not stop.is_set():
                raise CacheSyncTimeout(
                    f"{self.name}: the initial list of {source.collection.resource} is not handled yet"
                )
        workers.start(self.workers)

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the workers; those that still work at `deadline` (absolute monotonic seconds)."""
        return self._running.workers.join_until(deadline) if self._running else []

    def _add(self, source: Source) -> Self:
        if self._running is not None:
            raise UsageError(f"controller {self.name} has been started: its sources are fixed")
        self._sources.append(source)
        return self
