# SPDX-License-Identifier: Apache-2.0
"""Applies each change to the store first, and then calls the handlers for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apimachinery.host import Host
from apimachinery.objects import Cached, PlainKey
from apimachinery.plain_functions import plain, refuse_awaitable
from controller_runtime.cache.delivering import Delivering, begin_delivering, end_delivering
from controller_runtime.cache.forms import Sharing, alone
from controller_runtime.cache.index import IndexFunction
from controller_runtime.cache.latch import Latch
from controller_runtime.cache.packed import is_plain
from controller_runtime.cache.packing import Packing
from controller_runtime.cache.store import Delta, Store
from controller_runtime.cache.union import Peers
from controller_runtime.client.decoding import WatchEvent

Handler = Callable[[Delta], None]
"""Receives each change. It must be quick and must not wait, because it runs under the delivery lock."""

_HANDLER = "a handler of an informer"


class Delivery:
    """Changes a store and calls its handlers.

    Each handler is called once for every change, in the order of the changes, after the store has the change. A handler
    that is added later is first called for the objects in the store, as initial deltas; it misses no later change, and
    gets none twice.

    Args:
        host: Creates the locks.
        store: The store to change.
        label: The name of the collection, for messages.
        peers: The stores that may have the same objects, whose memory is then shared; None if there are none.
        packing: Packs the objects of the store; None keeps them unpacked.

    Attributes:
        synced: Set once the store is filled and every handler has been called for the whole initial list.

    Threads: `to_store`, `replace` and `apply` are called from the reflector's thread only; the other methods from
        any thread, but not from inside a handler.
    """

    def __init__(
        self, host: Host, store: Store, label: str, peers: Peers | None = None, packing: Packing | None = None
    ) -> None:
        self.synced = Latch(host, f"sync of {label}")
        self._packing = packing or Packing(host, label, None)
        self._store = store
        self._peers = peers
        # Held while the store changes and while the handlers are called for it, so that a handler which is added
        # meanwhile can neither miss a change nor get it twice. No other lock of the caches is held across a call out;
        # because this one is, handlers must be quick.
        # Guards the handlers, each with the function to call once it has received the initial list.
        self._lock = host.lock(f"delivery of {label}")
        self._delivering = Delivering()  # in it, user code runs under the lock
        self._handlers: dict[int, tuple[Callable[[Delta], object], Callable[[], None]]] = {}
        self._next_id = 0

    def __len__(self) -> int:
        return len(self._handlers)  # one number, so whole without the lock

    def to_store(self, cached: Cached) -> Cached:
        """Return the object to store for `cached`: an equal one from this store or a peer, or a packed form of it."""
        found = self._store.to_store(cached, self.shared)
        self._packing.start_if_due()
        self._packing.wait_if_ahead()
        return found

    def shared(self, cached: Cached) -> Cached | None:
        """Return the object in a peer of the store that equals `cached`; None if there is none."""
        return None if self._peers is None else self._peers.shared(self._store, cached)

    def exchange(self, pairs: Iterable[tuple[Cached, Cached]]) -> None:
        """Replace objects of the store (the first of each pair) by the same objects in another form (the second).

        No handler is called, because no object has changed.
        """
        with self._lock, self._sharing()() as shared:
            # The other store may have packed the same object meanwhile.
            found = ((old, new, shared(old)) for old, new in pairs)
            self._store.exchange(
                [(old, new if other is None or is_plain(other) else other) for old, new, other in found]
            )

    def apply(self, event: WatchEvent) -> None:
        """Apply one event to the store, and call the handlers if an object has changed."""
        with self._lock:
            token = begin_delivering(True)
            try:
                delta = self._store.apply(event, self._sharing())
                if delta is not None:
                    for handler, _ in self._handlers.values():
                        if (result := handler(delta)) is not None:
                            refuse_awaitable(_HANDLER, handler, result)
            finally:
                end_delivering(token)
        self._packing.stored()

    def replace(self, objects: dict[PlainKey, Cached], version: str) -> None:
        """Replace the content of the store with `objects`, and call the handlers for each difference."""
        with self._lock, self._delivering:
            initial = not self._store.filled
            for delta in self._store.replace(objects, version, self._sharing()):
                for handler, _ in self._handlers.values():
                    _call(handler, delta)
            synced = [synced for _, synced in self._handlers.values()] if initial else []
        for handler_has_synced in synced:
            handler_has_synced()
        self._packing.stored()
        self.synced.set()

    def drop(self, drop: Callable[[], None]) -> None:
        """Call `drop`, which removes objects from the store, while no change is applied. Handlers are not called."""
        with self._lock:
            drop()

    def wait_for_handlers(self) -> None:
        """Wait until the handlers have been called for every change that the store has now."""
        with self._lock:
            pass

    def add_index(self, name: str, values_of: IndexFunction) -> None:
        """Add an index to the store while no change is being applied; see `Store.add_index`."""
        with self._lock, self._delivering:
            self._store.add_index(name, values_of)

    def add(self, handler: Handler, synced: Callable[[], None]) -> Callable[[], None]:
        """Call `handler` for each object in the store, then for every change; call `synced` after the initial list.

        Returns:
            A function that removes the handler: once the function returns, the handler is not running and is not called
            again. Idempotent.
        """
        plain(_HANDLER, handler)
        with self._lock, self._delivering:
            filled = self._store.filled
            for cached in self._store.list():
                _call(handler, Delta(None, cached, initial=True))
            key = self._next_id
            self._next_id += 1
            self._handlers[key] = (handler, synced)
        if filled:
            synced()

        def remove() -> None:
            with self._lock:
                self._handlers.pop(key, None)

        return remove

    def _sharing(self) -> Sharing:
        peers = self._peers
        return alone if peers is None or len(peers.stores) < 2 else peers.sharing(self._store)


def _call(handler: Callable[[Delta], object], delta: Delta) -> None:
    result = handler(delta)
    if result is not None:  # few handlers return anything, and each delta passes here
        refuse_awaitable(_HANDLER, handler, result)
