# SPDX-License-Identifier: Apache-2.0
"""From the reflector to the store, and then to whoever wants to know: in this order, always."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.api.objects import Cached, PlainKey
from controller_runtime.cache.latch import Latch
from controller_runtime.cache.store import Delta, IndexFunction, Store
from controller_runtime.client.decoding import WatchEvent
from controller_runtime.core.host import Host

Handler = Callable[[Delta], None]
"""Hears of each change. Quick and pure but for adding to a queue: it runs under the delivery lock."""


class Delivery:
    """Changes a store and tells its handlers.

    Each handler hears of every change once, in the order of the store, and finds the
    change in the store when it does. One that comes late hears of what is there first,
    as initial deltas, with no gap and no repetition.

    Attributes:
        synced: Set once the store is filled and every handler has heard of it.

    Threads: `kept`, `replace` and `apply` from the reflector's; the rest from any, but
    not from inside a handler.
    """

    def __init__(self, host: Host, store: Store, label: str) -> None:
        self.synced = Latch(host, f"sync of {label}")
        self._store = store
        # Held while the store changes and while its handlers hear of it: the one lock of the house under
        # which others are called, so that a handler that comes late cannot miss a change or hear of it twice.
        # Guards the handlers, each with what to call once it has heard of the initial list.
        self._lock = host.lock(f"delivery of {label}")
        self._handlers: dict[int, tuple[Handler, Callable[[], None]]] = {}
        self._next_id = 0

    def __len__(self) -> int:
        return len(self._handlers)

    def kept(self, cached: Cached) -> Cached:
        """The object already in the store in place of an equal one."""
        return self._store.kept(cached)

    def apply(self, event: WatchEvent) -> None:
        """Take in one event and tell of what it changed."""
        with self._lock:
            delta = self._store.apply(event)
            if delta is not None:
                self._tell(delta)

    def replace(self, objects: dict[PlainKey, Cached], version: str) -> None:
        """Take in a whole list and tell of what differs."""
        with self._lock:
            initial = not self._store.filled
            for delta in self._store.replace(objects, version):
                self._tell(delta)
            told = [synced for _, synced in self._handlers.values()] if initial else []
        for synced in told:
            synced()
        self.synced.set()

    def add_index(self, name: str, values_of: IndexFunction) -> None:
        """See `Store.add_index`; here between two changes."""
        with self._lock:
            self._store.add_index(name, values_of)

    def add(self, handler: Handler, synced: Callable[[], None]) -> Callable[[], None]:
        """Tell `handler` of what is there, then of every change; call `synced` once it has heard of the initial list.

        Returns:
            A function that ends it: once it returns, the handler neither runs nor will. Harmless afterwards.
        """
        with self._lock:
            filled = self._store.filled
            for cached in self._store.list():
                handler(Delta(None, cached, initial=True))
            key = self._next_id
            self._next_id += 1
            self._handlers[key] = (handler, synced)
        if filled:
            synced()

        def remove() -> None:
            with self._lock:
                self._handlers.pop(key, None)

        return remove

    def _tell(self, delta: Delta) -> None:
        for handler, _ in self._handlers.values():
            handler(delta)
