# SPDX-License-Identifier: Apache-2.0
"""The objects of one kind in the storage."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable

from embedded_apiserver.storage.history import History, Log
from embedded_apiserver.storage.stored import Stored


class Collection:
    """The objects of one kind, with their history and the cursors that wait for a change.

    Args:
        history: The limits of the history.
        oldest: The version with which the collection begins.
        is_new: True if there was no earlier collection with this name, so that it was empty at all earlier versions.

    Attributes:
        objects: The objects by key.
        keys: The keys, sorted.
        items: The objects in the order of `keys`.
        log: The recent changes.
        born: The version up to which the collection was empty; 0 if that is unknown.
        changed: The version of the last write; at first the version with which the collection begins.
        waiting: The callbacks of cursors that have read all changes, by the cursor's number. Each is called once: by
            the next commit, or when the cursors end or expire.
        ended: True if the kind is no longer served; see `Storage.end`.

    Threads: guarded by the storage's lock.
    """

    def __init__(self, history: History, oldest: int, *, is_new: bool = False) -> None:
        self.objects: dict[str, Stored] = {}
        # Two parallel lists rather than a tree: the objects of a namespace are a slice, found by bisection.
        self.keys: list[str] = []
        self.items: list[Stored] = []
        self.log = Log(history, oldest)
        self.born = oldest if is_new else 0
        self.changed = oldest
        self.waiting: dict[int, Callable[[], None]] = {}
        self.ended = False

    def range(self, prefix: str) -> list[Stored]:
        """Return a new list of the objects whose keys begin with `prefix`, in the order of the keys."""
        if not prefix:
            return self.items.copy()
        start = bisect.bisect_left(self.keys, prefix)
        stop = bisect.bisect_left(self.keys, prefix + "\U0010ffff", start)  # the greatest character
        return self.items[start:stop]

    def put(self, item: Stored) -> None:
        """Add an object, or replace the object with the same key."""
        place = bisect.bisect_left(self.keys, item.key)
        if item.key in self.objects:
            self.items[place] = item
        else:
            self.keys.insert(place, item.key)
            self.items.insert(place, item)
        self.objects[item.key] = item

    def fill(self, items: Iterable[Stored]) -> None:
        """Add those objects whose keys the collection does not have yet."""
        for item in items:
            if item.key not in self.objects:
                self.put(item)

    def remove(self, key: str) -> None:
        """Remove the object with this key, which must exist."""
        place = bisect.bisect_left(self.keys, key)
        del self.keys[place], self.items[place], self.objects[key]

    def take_waiting(self) -> list[Callable[[], None]]:
        """Remove and return the callbacks of waiting cursors. Call them after releasing the lock."""
        notify = list(self.waiting.values())
        self.waiting.clear()
        return notify
