# SPDX-License-Identifier: Apache-2.0
"""A streamed list as far as it has come."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.api.objects import Cached, PlainKey
from controller_runtime.client.decoding import EventType, WatchEvent
from controller_runtime.client.paging import ListBounds, Tally


class StreamedList:
    """Collects the objects that a watch begins with, until the bookmark that ends them.

    Args:
        what: The collection, for messages.
        bounds: How much may come before that bookmark, changes of objects that came before included.
        kept: Returns the object already there in place of an equal one.

    Attributes:
        objects: What has come, by key.

    Threads: one.
    """

    def __init__(self, what: object, bounds: ListBounds, kept: Callable[[Cached], Cached]) -> None:
        self.objects: dict[PlainKey, Cached] = {}
        self._kept = kept
        self._tally = Tally(what, bounds)

    def take(self, event: WatchEvent) -> bool:
        """Take in one event, which may be a change too; whether the list is complete with it.

        Raises:
            DecodeError: More has come than may.
        """
        cached = event.cached
        if cached is None:
            return event.initial_events_end
        self._tally.add(1, len(cached.raw))
        if event.type is EventType.DELETED:
            self.objects.pop(cached.plain_key, None)
        else:
            self.objects[cached.plain_key] = self._kept(cached)
        return False
