# SPDX-License-Identifier: Apache-2.0
"""One collection in this process: a store, the reflector that fills it, and the handlers of its changes."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from apimachinery.host import Host, Thread
from apimachinery.plain_functions import plain, synchronous
from apimachinery.stop import Stop
from controller_runtime.cache.audit_tally import AuditTally
from controller_runtime.cache.body_source import BodySource
from controller_runtime.cache.compression import compression_of
from controller_runtime.cache.delivery import Delivery, Handler
from controller_runtime.cache.divided import DividedStore
from controller_runtime.cache.head import HeadReads, index_of_heads, of_heads
from controller_runtime.cache.index import IndexFunction
from controller_runtime.cache.large import LargeCache, Readers, warn_of_secrets
from controller_runtime.cache.latch import Latch
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.packing import Packing
from controller_runtime.cache.reflector import Reflector
from controller_runtime.cache.store import Delta, Store
from controller_runtime.cache.subscription import Subscription
from controller_runtime.cache.union import Peers, Readable
from controller_runtime.client.decoding import Page
from controller_runtime.client.listwatch import ListWatch


@attrs.frozen
class _Stops:
    run: Stop
    program: Stop


class Registration:
    """A handler of an informer; made by `Informer.add_handler`.

    Attributes:
        remove: Removes the handler: once this returns, the handler is not running and is not called again. Idempotent.

    Threads: any, but not from inside a handler.
    """

    def __init__(self, synced: Latch, remove: Callable[[], None]) -> None:
        self._synced = synced
        self.remove = remove

    def has_synced(self) -> bool:
        """Return whether the handler has received the whole initial list."""
        return self._synced.is_set()

    def wait_for_sync(self, stop: Stop, deadline: float | None) -> bool:
        """Wait until `has_synced`, `stop` or `deadline` (absolute monotonic seconds); return `has_synced`."""
        return self._synced.wait(stop, deadline)


class Informer:
    """A local copy of one collection that reports its changes.

    Changes of one object are reported in the server's order, and only after the store has them, so that a handler can
    read them there. Changes in quick succession, or while the connection is down, may be reported as one. A deletion
    that only a new list reveals is reported, too. There is no resync: only changes are reported.

    Args:
        host: The source of time, threads, locks and randomness.
        listwatch: Lists and watches the collection.
        options: The options of the cache.
        peers: The stores that may have the same objects, whose memory is then shared.
        bodies: Returns the whole objects, if `listwatch` has only metadata; otherwise None.
        readers: Returns the names of the classes into which readers decode the objects, for a warning.

    Attributes:
        collection: The collection.
        resource: The resource of the collection.
        store: The local copy; it has only metadata if there are `bodies`.
        reads: The `Readable` for listers: the store, or the store with bodies that are fetched on demand.
        bodies: As given.
        kept_resource: The resource of the objects in the store.
        reflector: Fills the store; public for its state and counters.
        portion: The share of the objects that the store keeps (in a ring); None for all.
        audit: The counts of a `CacheAudit`; only the thread of the audit writes to it.

    Threads: any, for every method; `run` once, on its own thread.
    """

    def __init__(
        self,
        host: Host,
        listwatch: ListWatch,
        options: CacheOptions | None = None,
        peers: Peers | None = None,
        readers: Readers = tuple,
        bodies: BodySource | None = None,
    ) -> None:
        options = options or CacheOptions()
        self.collection = listwatch.collection if bodies is None else bodies.collection
        self.resource = self.collection.resource
        self.kept_resource = listwatch.collection.resource
        self.bodies = bodies
        self._name = name = str(listwatch) if bodies is None else f"{self.collection}, bodies on demand"
        portion = options.portion
        label = f"store of {name}"
        large = LargeCache(listwatch.collection, options.warn_at, readers)
        self._packing = packing = Packing(host, name, compression_of(options.compress), large)
        form = packing.form
        if options.make_store is not None:
            self.store = options.make_store(host, label, form, self.collection, options.transform)
        else:
            self.store = Store(host, label, form) if portion is None else DividedStore(host, label, portion, form)
        self._host = host
        self._listwatch = listwatch
        self._delivery = Delivery(host, self.store, name, peers, packing)
        packing.follow(self.store, self._delivery.exchange, self._delivery.shared)
        self.reflector = Reflector(host, listwatch, self._delivery, options)
        self.store.liveness = self.reflector.liveness
        self.portion = portion
        if portion is not None and isinstance(self.store, DividedStore):
            drop = self.store.drop_others
            portion.drop_others = lambda: self._drop_others(drop)
            portion.on_widened = self.reflector.relist
        self.audit = AuditTally()
        # Guards the two fields below.
        self._lock = host.lock(f"informer of {name}")
        self._stops: _Stops | None = None  # None until `run`, which starts the threads of the subscriptions
        self._subscriptions: list[Subscription] = []
        self.reads: Readable = self.store if bodies is None else HeadReads(self.store, bodies)
        if bodies is not None:
            self._delivery.add(bodies.changed, nothing)
            if bodies.has_function:
                self.subscribe(bodies.fetch_chosen, name=f"bodies/{self.resource.plural}")

    def __str__(self) -> str:
        return self._name

    @property
    def last_error(self) -> str:
        """The error of the last list or watch; empty if it succeeded."""
        return self.reflector.liveness.last_error

    @property
    def handlers(self) -> int:
        """The number of handlers and subscriptions."""
        return len(self._delivery)

    @property
    def subscriptions(self) -> list[Subscription]:
        """The subscriptions that have not ended."""
        with self._lock:
            return [subscription for subscription in self._subscriptions if not subscription.ended]

    def advise(self, text: str) -> None:
        """Add `text`, a way to get the missing right, to the error of a forbidden request. Call it before `run`."""
        self._listwatch.advice = text

    def first_page(self) -> Page:
        """Return a page of the collection with one object, and the number of the others; see `ListWatch.list`.

        Raises:
            Exception: `ListWatch.list` raised it.
        """
        return self._listwatch.list(most=1)

    def has_synced(self) -> bool:
        """Return whether the store is filled, and every handler has been called for the whole initial list."""
        return self._delivery.synced.is_set()

    def wait_for_sync(self, stop: Stop, deadline: float | None) -> bool:
        """Wait until `has_synced`, `stop` or `deadline` (absolute monotonic seconds); return `has_synced`."""
        return self._delivery.synced.wait(stop, deadline)

    def add_handler(self, handler: Handler) -> Registration:
        """Call `handler` for each existing object, as an initial delta, then for each change; return its registration.

        The handler runs under the delivery lock: on the calling thread for objects that are in the store already, then
        on the reflector's thread. So it must be quick, must not wait, and must not add or remove handlers. An exception
        in it stops the program.
        """
        synced = Latch(self._host, f"sync of a handler of {self}")
        if self.bodies is not None:
            handler = of_heads(plain("a handler of an informer", handler), None)
        return Registration(synced, self._delivery.add(handler, synced.set))

    def subscribe(self, callback: Callable[[Delta], None], *, name: str) -> Subscription:
        """Call `callback` for every object, then for every change, on a new thread; return the subscription.

        The thread runs while the informer runs.

        Args:
            callback: A function that may be slow, keep state and have side effects. An exception in it stops the
                program.
            name: The thread's name.
        """
        if self.bodies is not None:
            callback = of_heads(synchronous(name, callback), self.bodies)
        subscription = Subscription(self._host, callback, name)
        subscription.attach(self._delivery.add)
        with self._lock:
            stops = self._stops
            self._subscriptions = [other for other in self._subscriptions if not other.ended]
            self._subscriptions.append(subscription)
        if stops is not None:
            subscription.start(stops.run, stops.program)
        return subscription

    def add_index(self, name: str, values_of: IndexFunction) -> None:
        """Index the store by the values that `values_of` returns for each object; see `Store.add_index`.

        Raises:
            ValueError: The name is taken.
        """
        self._delivery.add_index(name, values_of if self.bodies is None else index_of_heads(values_of))

    def wait_for_handlers(self) -> None:
        """Wait until the handlers have been called for every change that the store has now."""
        self._delivery.wait_for_handlers()

    def run(self, stop: Stop, program: Stop | None = None) -> None:
        """Start the threads of the subscriptions, and keep the store up to date until `stop` is set.

        Call it on a thread made by `core.stop.spawn`: a failure must set `stop`, which ends each `wait_for_sync`.

        Args:
            stop: Ends the run.
            program: Set, with the error as its failure, if a subscription raises one; None for `stop`.

        Raises:
            Exception: The error of a handler, an index function or the transform.
        """
        stops = _Stops(stop, program or stop)
        with self._lock:
            self._stops = stops
            waiting = [*self._subscriptions]
        for subscription in waiting:
            subscription.start(stops.run, stops.program)
        # Called when `stop` is set, not when this returns or raises: a failure must be recorded in `stop` before a
        # waiter wakes up and asks for the reason.
        stop.on_set(self._delivery.synced.give_up)
        self._packing.run(stop, stops.program)
        warn_of_secrets(self._listwatch.collection)
        self.reflector.run(stop)

    def _drop_others(self, drop: Callable[[], None]) -> None:
        self._delivery.drop(drop)
        if self.bodies is not None:
            self.bodies.forget_others()

    def leave_share(self) -> None:
        """Remove this informer's cache from its replica's share of the kind, because the informer is no longer used.

        Otherwise the ring would wait until this cache has the objects of newly taken slots, which it never gets.
        """
        if self.portion is not None:
            self.portion.share.drop(self.portion)

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the threads that this informer started; return those that still run at `deadline` (monotonic s)."""
        with self._lock:
            threads = [self._packing.thread, *(subscription.thread for subscription in self._subscriptions)]
        return [thread for thread in threads if thread is not None and not thread.join_until(deadline)]


def nothing() -> None:
    """Do nothing. It is the callback for a handler whose initial list nobody waits for."""
