# SPDX-License-Identifier: Apache-2.0
"""A streamed list while it arrives."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.objects import Cached, PlainKey
from controller_runtime.client.decoding import EventType, WatchEvent
from controller_runtime.client.paging import ListBounds, ListTally


class StreamedList:
    """Collects the objects with which a watch begins, until the bookmark that ends the list.

    Args:
        what: The name of the collection, for messages.
        bounds: The bounds of the events before that bookmark. Repeated events for one object count, too, so that a
            server that repeats itself cannot fill the memory.
        to_store: Returns the stored object if it equals the new one, otherwise the form to store.

    Attributes:
        objects: The objects so far, by key.

    Threads: one.
    """

    def __init__(self, what: object, bounds: ListBounds, to_store: Callable[[Cached], Cached]) -> None:
        self.objects: dict[PlainKey, Cached] = {}
        self._to_store = to_store
        self._tally = ListTally(what, bounds)

    def take(self, event: WatchEvent) -> bool:
        """Take one event, which may also change an object of the list; return True if the event ends the list.

        Raises:
            DecodeError: The list exceeds `bounds`.
        """
        cached = event.cached
        if cached is None:
            return event.initial_events_end
        self._tally.add(1, len(cached.raw))
        if event.type is EventType.DELETED:
            self.objects.pop(cached.plain_key, None)
        else:
            kept = self._to_store(cached)
            self.objects[kept.plain_key] = kept  # its own key, so that there is one
        return False
