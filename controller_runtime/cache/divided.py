# SPDX-License-Identifier: Apache-2.0
"""The store of a cache that keeps only a share of the objects: those of this replica in a ring."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.objects import Cached, PlainKey
from controller_runtime.cache.forms import Form, Sharing, alone, as_received
from controller_runtime.cache.share import Portion
from controller_runtime.cache.sizes import sizes_of
from controller_runtime.cache.store import Delta, Store
from controller_runtime.client.decoding import EventType, WatchEvent
from controller_runtime.core.memory import give_back

MANY = 1_000
"""The least number of objects removed at a time after which their memory is given back to the operating system."""


class DividedStore(Store):
    """A store that keeps only the objects of its share (those of this replica in a ring).

    If a change takes an object out of the share, such as a child that another owner has adopted, handlers get a
    deletion. An object whose slot leaves the share is removed without calling handlers.

    Args:
        host: The source of the time and the lock.
        label: The name of the store, for reports of threads that hang.
        portion: The share of the cache.
        form: Returns the form in which an object is kept.

    Threads: one writes, any read; `drop_others` counts as a write.
    """

    def __init__(self, host: Host, label: str, portion: Portion, form: Form = as_received) -> None:
        super().__init__(host, label, form)
        self._portion = portion

    @property
    def is_partial(self) -> bool:
        """True: the store has only a share of the collection."""
        return True

    def apply(self, event: WatchEvent, sharing: Sharing = alone) -> Delta | None:
        """Apply one event; see `Store.apply`."""
        if event.cached is not None and not self._portion.keeps(event.cached):
            if event.cached.plain_key in self._objects:
                event = event._replace(type=EventType.DELETED)
            else:
                event = WatchEvent(EventType.BOOKMARK, None, event.version)
        return super().apply(event, sharing)

    def replace(self, objects: dict[PlainKey, Cached], version: str, sharing: Sharing = alone) -> list[Delta]:
        """Replace the content with a list; see `Store.replace`."""
        # In place, because a second dict of a large list would stay in the memory of the process.
        others = [key for key, cached in objects.items() if not self._portion.keeps(cached)]
        for key in others:
            del objects[key]
        brought = len(objects) + len(others)
        deltas = super().replace(objects, version, sharing)
        if brought > MANY:  # a share is often listed again, and most of a list is what the store has already
            give_back()
        return deltas

    def drop_others(self) -> None:
        """Drop the objects that are no longer in the share, without calling handlers."""
        kept = {key: cached for key, cached in self._objects.items() if self._portion.keeps(cached)}
        indices = {name: index.within(kept) for name, index in self._indices.items()}
        sizes, dropped = sizes_of(kept.values()), len(self._objects) - len(kept)
        with self._condition:
            self._objects, self._indices, self._sizes = kept, indices, sizes
        if dropped > MANY:
            give_back()
