# SPDX-License-Identifier: Apache-2.0
"""A controller: which changes concern it, and the reconciler that answers them.

It is a description until it is started; then it has a queue, sources that feed it and
workers that empty it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import attrs

from controller_runtime.api.resources import Resource
from controller_runtime.cache.informers import Informers
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.counters import ReconcileCounters
from controller_runtime.controller.handlers import Handler, enqueue_object
from controller_runtime.controller.predicates import Predicate
from controller_runtime.controller.reconciler import Reconciler, Request
from controller_runtime.controller.sources import Collection, Every, Follow, Intake, Source, Synced, Watch
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

    intake: Intake
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
        reconcile_timeout: Seconds that one reconcile may take; None is for ever. One that takes
            longer counts as failed, whatever it returns, and is retried with a growing delay. From
            then on its requests through `Manager.client` are refused, and none has waited for an
            answer beyond. But nothing can end a Python thread: a reconcile that hangs in
            something else keeps its worker and its request, and `/readyz` and
            `/debug/controllers` say so. If it must wait, let it look at `reconcile_deadline`.

    Raises:
        ValueError: No name, less than one worker, or a timeout that is not positive.

    Threads: it is described and started from one, and once it is started from any; the counts may be
        read from any.
    """

    def __init__(
        self,
        name: str,
        reconciler: Reconciler,
        *,
        workers: int = 1,
        limiter: RateLimiter | None = None,
        reconcile_timeout: float | None = None,
    ) -> None:
        if not name:
            raise ValueError("a controller needs a name")
        if workers < 1:
            raise ValueError(f"{name}: workers ({workers}) must be at least 1")
        if reconcile_timeout is not None and reconcile_timeout <= 0:
            raise ValueError(f"{name}: reconcile_timeout ({reconcile_timeout}) must be positive")
        self.name = name
        self.workers = workers
        self.reconcile_timeout = reconcile_timeout
        self._reconciler = reconciler
        self._limiter = limiter
        self._sources: list[Source] = []
        # Those of them that are not attached yet; whoever takes one out attaches it, so that each is once.
        self._unattached: deque[Source] = deque()
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
        """Let changes of a collection cause requests; at once, if the controller has been started.

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
        linger: float = 0.0,
    ) -> Self:
        """Let a callback that may remember and act see every change once, in order.

        It runs on a thread of its own. No worker starts before it has seen the whole
        initial list, unless it is added to a controller that has been started. What it
        returns is requested.

        Args:
            resource: The collection.
            callback: Called for each change. What it raises stops the program, for what it
                remembers may be wrong from then on.
            namespace: As for `watch`.
            label_selector: As for `watch`.
            field_selector: As for `watch`.
            linger: Seconds by which changes may come later, so that many come together; see `Informers.of`.

        Returns:
            The controller, to go on describing it.
        """
        return self._add(Follow(Collection(resource, namespace, label_selector, field_selector, linger), callback))

    def every(self, seconds: float, requests: Callable[[], Iterable[Request]], *, jitter: float = 0.1) -> Self:
        """Let time cause requests: when it starts, and again each time that a period has passed since.

        They stand behind what changes, as initial lists do. A machine that slept makes up
        for nothing.

        Args:
            seconds: The period.
            requests: What to request: `lister.keys` for all there is, or a function that
                returns one name that stands for the whole. It runs on a thread of its own;
                what it raises stops the program.
            jitter: Each period is stretched by a random part of this (0.1: by up to a tenth), so
                that programs started together do not stay together.

        Returns:
            The controller, to go on describing it.

        Raises:
            ValueError: A period that is not positive, or a negative jitter.
        """
        if not 0.0 < seconds < math.inf:
            raise ValueError(f"{self.name}: seconds ({seconds}) must be positive")
        if not 0.0 <= jitter < math.inf:
            raise ValueError(f"{self.name}: jitter ({jitter}) must be zero or more")
        return self._add(Every(seconds, requests, jitter))

    def receive(self, channel: Channel) -> Self:
        """Let whoever pushes into `channel` cause requests.

        Returns:
            The controller, to go on describing it.

        Raises:
            UsageError: A controller receives the channel already.
        """
        channel.receive()
        return self._add(channel)

    @property
    def collections(self) -> Sequence[Collection]:
        """What it watches and follows."""
        return [source.collection for source in self._sources if source.collection is not None]

    @property
    def channels(self) -> Sequence[Channel]:
        """What it receives."""
        return [source for source in self._sources if isinstance(source, Channel)]

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
        return len(self._running.intake.queue) if self._running else 0

    def counters(self) -> tuple[ReconcileCounters, QueueCounters] | None:
        """All that is counted of its reconciles and of its queue; None before it is started."""
        return (self._running.workers.counters(), self._running.intake.queue.counters()) if self._running else None

    @property
    def reconciler(self) -> Reconciler:
        """As given."""
        return self._reconciler

    def turns(self, limit: int) -> list[Turn[Request]]:
        """Copies of the turns of all requests that are reconciled now and of up to `limit` others, to look at."""
        return self._running.intake.queue.turns(limit) if self._running else []

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
        workers = Workers(host, self.name, self._reconciler, queue, stop, timeout=self.reconcile_timeout)
        intake = Intake(self.name, host, informers, queue, stop)
        self._running = _Running(intake, workers)
        stop.on_set(queue.shut_down)
        for source, synced in self._attach(intake):
            if not synced(stop, sync_deadline) and not stop.is_set():
                raise CacheSyncTimeout(f"{self.name}: the initial list of {source.collection} is not handled yet")
        workers.start(self.workers)

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for its threads; those that still work at `deadline` (absolute monotonic seconds)."""
        if self._running is None:
            return []
        late = [thread for thread in self._running.intake.threads if not thread.join_until(deadline)]
        return self._running.workers.join_until(deadline) + late

    def _add(self, source: Source) -> Self:
        if self._running is not None and self._running.intake.stop.is_set():
            raise UsageError(f"controller {self.name} stops or has stopped: it takes no more sources")
        self._sources.append(source)
        self._unattached.append(source)
        # Looked at last: a start that goes on meanwhile either is seen here, or sees what was appended.
        if self._running is not None:
            self._attach(self._running.intake)
        return self

    def _attach(self, intake: Intake) -> list[tuple[Source, Synced]]:
        """Attach what is not attached yet."""
        attached: list[tuple[Source, Synced]] = []
        while True:
            try:
                source = self._unattached.popleft()
            except IndexError:
                return attached
            attached.append((source, source.attach(intake)))
