# SPDX-License-Identifier: Apache-2.0
"""One collection, kept and told: a store, the reflector that fills it, and who hears of its changes."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.cache.delivery import Delivery, Handler
from controller_runtime.cache.latch import Latch
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.reflector import Reflector
from controller_runtime.cache.store import Delta, IndexFunction, Store
from controller_runtime.cache.subscription import Subscription
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.reachable import ServerReachable
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.stop import Stop


class Registration:
    """A handler at work; made by `Informer.add_handler`. Threads: any, but not from inside a handler."""

    def __init__(self, synced: Latch, remove: Callable[[], None]) -> None:
        self._synced = synced
        self.remove = remove
        """End it: once this returns, the handler neither runs nor will. Idempotent."""

    def has_synced(self) -> bool:
        """True once the handler has heard of the whole initial list."""
        return self._synced.is_set()

    def wait_for_sync(self, stop: Stop, deadline: float | None) -> bool:
        """Wait until `has_synced`, `deadline` (absolute monotonic seconds) or `stop`; whether it has."""
        return self._synced.wait(stop, deadline)


class Informer:
    """A local copy of one collection that tells of its changes.

    Changes are told in the server's order for each object, and after the store has
    them: who is told can read it. Changes that follow each other quickly, or fall into
    an interruption, may be told as one; a deletion noticed by a relist is told like any
    other. Nothing is repeated for the sake of repeating: there is no resync.

    Threads: any, for every method; `run` once, on a thread of its own.

    Args:
        host: What it runs on.
        listwatch: The collection.
        streaming: Try a streamed list before one by pages.
        patience: How long it waits for the server.
        transform: What to make of each object before it is kept.
        contact: Tells when somebody else has reached the server.

    Attributes:
        resource: What is in the collection.
        store: The copy.
        reflector: What fills it, for its counters and its state.
    """

    def __init__(
        self,
        host: Host,
        listwatch: ListWatch,
        *,
        streaming: bool = True,
        patience: Patience | None = None,
        transform: Transform | None = None,
        contact: ServerReachable | None = None,
    ) -> None:
        self.resource = listwatch.resource
        self.store = Store(host, f"store of {listwatch}")
        self._host = host
        self._name = str(listwatch)
        self._delivery = Delivery(host, self.store, str(listwatch))
        self.reflector = Reflector(
            host,
            listwatch,
            self._delivery,
            streaming=streaming,
            patience=patience,
            transform=transform,
            contact=contact,
        )
        # Guards the two below.
        self._lock = host.lock(f"informer of {listwatch}")
        self._stops: tuple[Stop, Stop] | None = None  # of the run and of its program; until then threads wait
        self._subscriptions: list[Subscription] = []

    def __str__(self) -> str:
        return self._name

    @property
    def last_error(self) -> str:
        """Why the last try to list or watch failed; empty once one has succeeded."""
        return self.reflector.last_error

    @property
    def handlers(self) -> int:
        """How many handlers and subscriptions hear of its changes."""
        return len(self._delivery)

    @property
    def subscriptions(self) -> list[Subscription]:
        """Those that have not ended."""
        with self._lock:
            return [subscription for subscription in self._subscriptions if not subscription.ended]

    def has_synced(self) -> bool:
        """True once the store is filled and every handler has heard of it."""
        return self._delivery.synced.is_set()

    def wait_for_sync(self, stop: Stop, deadline: float | None) -> bool:
        """Wait until `has_synced`, `deadline` (absolute monotonic seconds) or `stop`; whether it has."""
        return self._delivery.synced.wait(stop, deadline)

    def add_handler(self, handler: Handler) -> Registration:
        """Tell `handler` of every change, beginning with what is there, as initial deltas.

        It runs on the thread that brings the change, or on the caller's for what is
        there already, under the delivery lock: it must be quick, must not wait, and
        must not add or remove handlers. One that raises is a bug and stops the program.
        """
        synced = Latch(self._host, f"sync of a handler of {self}")
        return Registration(synced, self._delivery.add(handler, synced.set))

    def subscribe(self, callback: Callable[[Delta], None], *, name: str) -> Subscription:
        """Call `callback` with every change on a thread of its own, which runs while the informer does.

        Args:
            callback: May be slow, remember and act. What it raises stops the program.
            name: Of the thread.
        """
        subscription = Subscription(self._host, callback, name)
        subscription.attach(self._delivery.add)
        with self._lock:
            stops = self._stops
            self._subscriptions = [other for other in self._subscriptions if not other.ended]
            self._subscriptions.append(subscription)
        if stops is not None:
            subscription.start(*stops)
        return subscription

    def add_index(self, name: str, values_of: IndexFunction) -> None:
        """Index the store by what `values_of` says of each object; see `Store.add_index`.

        Raises:
            ValueError: The name is taken.
        """
        self._delivery.add_index(name, values_of)

    def run(self, stop: Stop, program: Stop | None = None) -> None:
        """Keep the copy until `stop` is set. Subscriptions get their threads from here.

        Call it on a thread made by `core.stop.spawn`: a failure must set `stop`, for that ends `wait_for_sync`.

        Args:
            stop: Ends it.
            program: Stopped by what a subscription raises; None is `stop`.

        Raises:
            Exception: What a handler, an index function or the transform raised.
        """
        stops = (stop, program or stop)
        with self._lock:
            self._stops = stops
            waiting = [*self._subscriptions]
        for subscription in waiting:
            subscription.start(*stops)
        # Not when this returns or raises: a failure must be recorded in `stop` before a waiter wakes and asks why.
        stop.on_set(self._delivery.synced.give_up)
        self.reflector.run(stop)

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the subscriptions' threads; those that still run at `deadline` (absolute monotonic seconds)."""
        with self._lock:
            threads = [subscription.thread for subscription in self._subscriptions]
        return [thread for thread in threads if thread is not None and not thread.join_until(deadline)]
