# SPDX-License-Identifier: Apache-2.0
"""A controller: a reconciler, and the sources that request reconciles.

Before a controller is started it is a description. From then on it has a queue, which the sources feed and workers
empty.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, Self

from apimachinery.errors import CacheSyncTimeout, UsageError
from apimachinery.host import Host, Thread
from apimachinery.plain_functions import called, plain
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Kind
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.controller.arguments import check_controller, check_period
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.counters import ReconcileCounters
from controller_runtime.controller.handlers import Callback, Handler, enqueue_object
from controller_runtime.controller.history import PastReconcile, Why
from controller_runtime.controller.observers import NOBODY, Observers
from controller_runtime.controller.predicates import Predicate
from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request, check_kind
from controller_runtime.controller.running import Running
from controller_runtime.controller.settlement import Settlement
from controller_runtime.controller.source_list import SourceList
from controller_runtime.controller.sources import Every, Follow, Intake, Source, Watch
from controller_runtime.controller.unreadable import Trouble, UnreadableObjects
from controller_runtime.controller.workers import make_workers
from controller_runtime.queue.counters import QueueCounters
from controller_runtime.queue.rate_limiters import RateLimiter
from controller_runtime.queue.turns import Turn
from controller_runtime.queue.workqueue import WorkQueue


class Controller:
    """Reconciles the keys that its sources request: up to `workers` at a time, but never the same key twice at a time.

    The objects of an initial list are reconciled as well, but with low priority in the queue: changes that happen
    meanwhile come before them. A controller runs once, with one manager.

    Args:
        name: The name in logs, threads and metrics; unique in its manager.
        reconciler: Does the work, on threads or, if it is an `AsyncReconciler`, on one event loop.
        workers: The most reconciles that run at the same time.
        limiter: Decides how long failed requests wait; not shared with other controllers. By default each request has
            its own delay, which starts at 5 ms and is doubled by each failure, up to 1000 s.
        reconcile_timeout: Seconds that one reconcile may take; None for no limit. A reconcile that takes longer counts
            as failed, even if it returns a result, and is retried with a growing delay. At the timeout, requests by
            `Manager.client` end, and later ones are refused. But Python cannot end a thread: a reconcile that hangs in
            other code keeps its worker and its key, and `/readyz` and `/debug/controllers` show it. A reconciler that
            waits should respect `reconcile_deadline`. The coroutine of an `AsyncReconciler` is cancelled.
        fair_by: Returns the group of a request, such as `by_namespace`. Groups then alternate, so that many requests of
            one group delay those of others no longer than `queue/fairness.py` states. It must be pure and quick.
            None: requests are taken in the order in which they became due.
        may_wake_itself: Allow a long series of reconciles that only the controller's own writes cause. Without it such
            a series is logged as a warning, and fails a test. With it, the writes count as written by others. Meant for
            work in many small steps that ends by itself, and for programs that simulate several components, such as a
            workload and the kubelet.
        warm_up: Attach the sources before this replica leads, so that the queue of a new leader is filled and it
            reconciles at once. Mappers, predicates, callbacks of `follow` and functions of `every` then run on each
            replica, so they must not write to the server.

    Raises:
        ValueError: `name` is empty, `workers` is less than one, or `reconcile_timeout` is not positive.
        TypeError: `reconciler` is not an object with a method `reconcile`.
        UsageError: `reconcile` is a coroutine in a `Reconciler`, or is not one in an `AsyncReconciler`; or `metrics` or
            `fair_by` is a coroutine.

    Threads: one until it is started, then any; the metrics can be read from any.
    """

    def __init__(
        self,
        name: str,
        reconciler: Reconciler | AsyncReconciler,
        *,
        workers: int = 1,
        limiter: RateLimiter | None = None,
        reconcile_timeout: float | None = None,
        fair_by: Callable[[Request], Hashable] | None = None,
        may_wake_itself: bool = False,
        warm_up: bool = False,
    ) -> None:
        check_controller(name, reconciler, workers, reconcile_timeout)
        check_kind(name, reconciler)
        self.name = name
        self._sources = SourceList(name)
        self.workers = workers
        self.reconcile_timeout = reconcile_timeout
        self._reconciler = reconciler
        self._limiter = limiter
        self._shareable: Lister[Any] | None = None
        self._fair_by = plain(f"{name}: fair_by", fair_by)
        self.may_wake_itself = may_wake_itself
        self.warm_up = warm_up
        self._has_begun = False
        self._running: Running | None = None

    def watch(
        self,
        resource: Kind[Any],
        when: Predicate | None = None,
        map: Handler = enqueue_object,  # noqa: A002  the field's word
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Self:
        """Let changes of a collection cause requests. If the controller has been started, this takes effect at once.

        Args:
            resource: The collection, or the declared class of its objects.
            when: A predicate that selects the changes; None for all changes.
            map: Maps a change to requests; by default to one request for the object itself. If `map` or `when` raises,
                the change is kept and tried again; changes of other objects are not delayed.
            namespace: Only objects in this namespace; empty for all namespaces.
            label_selector: Only objects whose labels match; empty for all objects.
            field_selector: Only objects whose fields match; empty for all objects.

        Returns:
            The controller, so that calls can be chained.

        Raises:
            UsageError: `when` or `map` is an `async def`. A function that returns a coroutine raises this for each
                change.
        """
        plain(f"{self.name}: `when` of a watch", when)
        plain(f"{self.name}: `map` of a watch", map)
        return self._from(Watch(Collection(resource, namespace, label_selector, field_selector), when, map))

    def follow(
        self,
        resource: Kind[Any],
        callback: Callback,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        linger: float = 0.0,
    ) -> Self:
        """Call `callback` with every change once, in order, on a separate thread.

        The callback may keep state and have side effects; the requests that it returns are reconciled. No worker starts
        before the callback has seen the whole initial list, unless the controller has been started already.

        Args:
            resource: The collection, or the declared class of its objects.
            callback: Called for each change. If the callback raises, the manager stops: the change is not delivered
                again, so state that the callback keeps could be wrong afterwards.
            namespace: Only objects in this namespace; see `watch`.
            label_selector: Only objects whose labels match.
            field_selector: Only objects whose fields match.
            linger: Seconds by which changes may be delayed, so that many are delivered together; see `Informers.of`.

        Returns:
            The controller, so that calls can be chained.

        Raises:
            UsageError: The callback is an `async def`.
        """
        plain(f"{self.name}: the callback of a follow", callback)
        return self._from(Follow(Collection(resource, namespace, label_selector, field_selector), callback, linger))

    def every(self, seconds: float, requests: Callable[[], Iterable[Request]], *, jitter: float = 0.1) -> Self:
        """Request reconciles periodically: when the controller starts, and after each period.

        These requests have low priority, as those of initial lists: requests that changes cause come first. Periods
        that were missed while the machine was suspended are skipped.

        Args:
            seconds: The period.
            requests: Returns the requests: `lister.keys` for all objects, or a function that returns a single key for
                work as a whole. It runs on a separate thread; if it raises, it is called again after a growing delay,
                at most the period.
            jitter: Each period is stretched by a random part of this (0.1: by up to a tenth), so that processes started
                together do not stay in step.

        Returns:
            The controller, so that calls can be chained.

        Raises:
            ValueError: `seconds` is not positive, or `jitter` is negative.
            UsageError: `requests` is an `async def`.
        """
        check_period(self.name, seconds, jitter)
        plain(f"{self.name}: the function of an every", requests)
        return self._from(Every(seconds, requests, jitter))

    def receive(self, channel: Channel) -> Self:
        """Reconcile the requests that are pushed into `channel`.

        Returns:
            The controller, so that calls can be chained.

        Raises:
            UsageError: A controller receives the channel already.
        """
        channel.receive()
        return self._from(channel)

    @property
    def sources(self) -> Sequence[Source]:
        """The sources of requests, in the order in which they were added."""
        return self._sources.all()

    @property
    def has_sources(self) -> bool:
        """Whether the controller has any source of requests."""
        return bool(self._sources.all())

    @property
    def collections(self) -> Sequence[Collection]:
        """The collections that this controller watches, and those whose changes the callbacks of `follow` get."""
        return self._sources.collections()

    @property
    def inspected(self) -> Sequence[Collection]:
        """The watched collections of which a predicate, a mapper or a callback reads more than the changed keys."""
        return self._sources.inspected()

    @property
    def channels(self) -> Sequence[Channel]:
        """The channels from which this controller receives requests."""
        return [source for source in self._sources.all() if isinstance(source, Channel)]

    def shareable(self, lister: Lister[Any]) -> Self:
        """Declare that replicas may divide the work by a ring, because each reconcile depends only on its own object.

        With the flag `--ring` the replicas of a program then divide it; see `Ring.share`.

        Args:
            lister: Reads the objects whose keys are the requests.

        Returns:
            The controller, so that calls can be chained.
        """
        self._shareable = lister
        return self

    @property
    def shared_objects(self) -> Lister[Any] | None:
        """The lister that was passed to `shareable`; None if replicas cannot divide the work."""
        return self._shareable

    @property
    def needs_leader(self) -> bool:
        """Whether the controller runs only while this replica leads; False if a `Ring` divides its objects."""
        return not self._is_shared

    def share(self, shared: Callable[[Reconciler], Reconciler], requests: Channel) -> None:
        """Let a ring divide the work among replicas; called by `Ring.share`.

        Args:
            shared: Wraps the reconciler so that it reconciles only requests which this replica owns.
            requests: The channel with the requests of slots that this replica takes over.

        Raises:
            UsageError: The controller was attached or started, is shared already, or reconciles by coroutines.
        """
        plain(f"{self.name}: share", shared)
        # Its workers, which a warm-up makes before they are started, keep the reconciler that they were made with.
        if self._running is not None or self._is_shared or isinstance(self._reconciler, AsyncReconciler):
            raise UsageError(
                f"controller {self.name} cannot be shared: it runs, is shared, or reconciles by coroutines"
            )
        self._reconciler = called(f"{self.name}: share", shared, self._reconciler)
        self.receive(requests)

    @property
    def _is_shared(self) -> bool:
        return isinstance(self._reconciler, Reconciler) and self._reconciler.is_shared

    @property
    def reconciles(self) -> int:
        """The number of reconciles that have ended."""
        return self._running.workers.counters().reconciles if self._running else 0

    @property
    def errors(self) -> int:
        """The number of reconciles that failed."""
        return self._running.workers.counters().errors if self._running else 0

    @property
    def has_begun(self) -> bool:
        """Whether `start` was called. The workers then start once the sources are attached."""
        return self._has_begun

    @property
    def queued(self) -> int:
        """The number of requests that a worker could take now."""
        return len(self._running.intake.queue) if self._running else 0

    def counters(self) -> tuple[ReconcileCounters, QueueCounters] | None:
        """Return the metrics of the reconciles and of the queue; None before the controller is attached or started."""
        return (self._running.workers.counters(), self._running.intake.queue.counters()) if self._running else None

    @property
    def reconciler(self) -> Reconciler | AsyncReconciler:
        """The reconciler of this controller, as given."""
        return self._reconciler

    def trouble(self) -> Trouble | None:
        """Return the records of objects for which this controller fails; None before it is attached or started."""
        return Trouble(self._running.intake.fallible, self._running.unreadable) if self._running else None

    def turns(self, limit: int) -> list[Turn[Request]]:
        """Return copies of the queue entries of all requests being reconciled, and of up to `limit` others."""
        return self._running.intake.queue.turns(limit) if self._running else []

    def why(self, request: Request) -> Why | None:
        """Return why `request` is reconciled, now and in the past; None before the controller is attached."""
        if self._running is None:
            return None
        last = self._running.workers.last()
        past = [PastReconcile(at, took, how, causes) for (of, at, causes), how, took in reversed(last) if of == request]
        return Why(self._running.intake.queue.turns_of(request), past)

    def prepare(self, informers: Informers) -> None:
        """Make the informers of the collections that the controller watches, so that their caches fill before it is
        started.
        """
        self._sources.prepare(informers)

    def start(
        self,
        host: Host,
        informers: Informers,
        stop: Stop,
        sync_deadline: float,
        observers: Observers = NOBODY,
    ) -> None:
        """Attach the sources, wait until their initial lists are in the queue, and start the workers.

        Sources that `attach` has attached are not attached again. If `stop` is set while this waits, the workers are
        still started, and end at once.

        Args:
            host: The source of time, locks and threads.
            informers: Makes the informers of the collections.
            stop: Ends the controller; it is failed if one of the controller's threads fails.
            sync_deadline: Absolute monotonic seconds by which the initial lists must be in the queue.
            observers: Functions that are called for unexpected errors and for objects that cannot be read.

        Raises:
            UsageError: The controller was started before.
            CacheSyncTimeout: A source has not delivered its initial list by `sync_deadline`.
        """
        if self._has_begun:
            raise UsageError(f"controller {self.name} was started more than once")
        self._has_begun = True
        running = self._running or self.attach(host, informers, stop, sync_deadline, observers)
        running.workers.start(self.workers)

    def attach(
        self,
        host: Host,
        informers: Informers,
        stop: Stop,
        sync_deadline: float,
        observers: Observers = NOBODY,
    ) -> Running:
        """Attach the sources, wait until their initial lists are in the queue, and return the running parts.

        The arguments are those of `start`.

        Raises:
            UsageError: The sources are attached already.
            CacheSyncTimeout: A source has not delivered its initial list in time.
        """
        if self._running is not None:
            raise UsageError(f"controller {self.name} was started more than once")
        queue: WorkQueue[Request] = WorkQueue(host, name=self.name, limiter=self._limiter, fair_by=self._fair_by)
        unreadable = UnreadableObjects(host, lambda: self.collections, partial(observers.on_unreadable, self.name))
        settlement = Settlement(
            host,
            self.name,
            queue,
            timeout=self.reconcile_timeout,
            observers=observers,
            unreadable=unreadable,
            may_wake_itself=self.may_wake_itself,
        )
        workers = make_workers(host, self.name, self._reconciler, queue, stop, settlement)
        intake = Intake(self.name, host, informers, queue, stop, observers)
        running = self._running = Running(intake, workers, unreadable)
        stop.on_set(queue.shut_down)
        for source, synced in self._sources.attach(intake):
            if not synced(stop, sync_deadline) and not stop.is_set():
                raise CacheSyncTimeout(
                    f"{self.name}: the initial list of {source.collection} is not handled yet: the callback of "
                    "`follow` has not returned; raise cache_sync_timeout if it needs longer"
                )
        return running

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the controller's threads; return those that still run at `deadline` (absolute monotonic seconds)."""
        if self._running is None:
            return []
        late = [thread for thread in self._running.intake.threads if not thread.join_until(deadline)]
        return self._running.workers.join_until(deadline) + late

    def _from(self, source: Source) -> Self:
        self._sources.add(source)
        return self
