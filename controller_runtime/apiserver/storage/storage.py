# SPDX-License-Identifier: Apache-2.0
"""The objects of the server, under one version counter and one lock.

A write is read, computed outside the lock and committed if nothing changed in between.
Watches are cursors: a commit tells who waits that there is something, and they take it.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from controller_runtime.apiserver.storage.history import History, Log, rewound
from controller_runtime.apiserver.storage.stored import Change, Draft, Stored
from controller_runtime.core.host import Host


class Journal(Protocol):
    """Where a storage keeps what it acknowledges; called under its lock, so it calls nobody."""

    def load(self) -> tuple[int, Iterable[tuple[str, Stored]]]:
        """A version that no client can have seen exceeded, and each object with its collection."""

    def write(self, collection: str, key: str, version: int, raw: bytes | None) -> None:
        """Keep a write (`raw` is None for a deletion); it survives the process once this returns."""

    def close(self) -> None:
        """Let go of the files. Idempotent."""


class Snapshot(NamedTuple):
    """The objects of a collection at one version, in key order."""

    version: int
    items: list[Stored]


class Batch(NamedTuple):
    """What a cursor took.

    Attributes:
        changes: In order.
        version: The version up to which nothing is missing, once `changes` are told; None if more wait.
    """

    changes: list[Change]
    version: int | None


class Ended(Exception):
    """The collection that was to be written to has ended."""


class _Collection:
    """One kind's objects: by key, and in the order of their keys."""

    def __init__(self, history: History, oldest: int) -> None:
        self.objects: dict[str, Stored] = {}
        # Parallel, sorted by key: a range of them is a slice.
        self.keys: list[str] = []
        self.items: list[Stored] = []
        self.log = Log(history, oldest)
        # Cursors that have seen everything, by their number: whom a commit tells, once.
        self.waiting: dict[int, Cursor] = {}
        self.ended = False

    def range(self, prefix: str) -> list[Stored]:
        if not prefix:
            return self.items.copy()
        start = bisect.bisect_left(self.keys, prefix)
        stop = bisect.bisect_left(self.keys, prefix + "\U0010ffff", start)
        return self.items[start:stop]

    def put(self, item: Stored) -> None:
        place = bisect.bisect_left(self.keys, item.key)
        if item.key in self.objects:
            self.items[place] = item
        else:
            self.keys.insert(place, item.key)
            self.items.insert(place, item)
        self.objects[item.key] = item

    def remove(self, key: str) -> None:
        place = bisect.bisect_left(self.keys, key)
        del self.keys[place], self.items[place], self.objects[key]

    def everyone_waiting(self) -> list[Cursor]:
        cursors = list(self.waiting.values())
        self.waiting.clear()
        return cursors


class Storage:
    """Versioned objects with a bounded history.

    Versions begin at the clock's microseconds since 1970, or above everything the
    journal has handed out, whichever is more: a client that outlives the server never
    holds a version that this one has yet to reach.

    Collections are named `plural.group`; keys are `namespace/name`, or the name alone.

    Threads: any, for every method.
    """

    def __init__(self, host: Host, history: History | None = None, journal: Journal | None = None) -> None:
        self._host = host
        self._history = history or History()
        self._journal = journal
        # Guards everything below, the journal, and the cursors' positions.
        self._lock = host.lock("apiserver/storage")
        self._collections: dict[str, _Collection] = {}
        self._next_cursor = 0
        self._closed = False
        used, objects = journal.load() if journal else (0, ())
        self._version = self._first = max(used, int(host.now().timestamp() * 1_000_000))
        for collection, item in objects:
            self._collection(collection).put(item)

    @property
    def version(self) -> int:
        """The version of the last write, of any collection."""
        return self._version

    def get(self, collection: str, key: str) -> Stored | None:
        """One object, as it is now."""
        with self._lock:
            return self._collection(collection).objects.get(key)

    def read(self, collection: str, prefix: str = "", at: int | None = None) -> Snapshot:
        """The objects whose keys begin with `prefix`, now or as they were.

        Args:
            collection: Which kind.
            prefix: Such as `namespace/`; empty for all.
            at: A version no newer than the storage's; None is now.

        Raises:
            Compacted: The history does not reach back to `at`.
        """
        with self._lock:
            found = self._collection(collection)
            items = found.range(prefix)
            if at is None:
                return Snapshot(self._version, items)
            newer = found.log.slice(found.log.position(at), found.log.end)
        return Snapshot(at, rewound(items, newer, prefix) if newer else items)

    def commit(self, collection: str, key: str, expected: Stored | None, draft: Draft | None) -> Change | None:
        """Write, unless somebody else has written since `expected` was read.

        Args:
            collection: Which kind.
            key: Whose.
            expected: What `get` gave; None if there was nothing.
            draft: What is to be there; None deletes.

        Returns:
            What was done, kept by the journal; None if the object is no longer `expected`.
            An error of the journal is raised, and nothing has been done.

        Raises:
            Ended: There is no such collection any more.
        """
        now = self._host.monotonic()
        with self._lock:
            found = self._collection(collection)
            if found.ended:
                raise Ended
            if found.objects.get(key) is not expected:
                return None
            version = self._version + 1
            new = Stored(key, version, draft.at(version)) if draft else None
            if self._journal:
                self._journal.write(collection, key, version, new.raw if new else None)
            self._version = version
            if new:
                found.put(new)
            else:
                found.remove(key)
            change = Change(version, now, expected, new)
            found.log.append(change)
            ready = found.everyone_waiting()
        for cursor in ready:
            cursor.on_ready()
        return change

    def follow(self, collection: str, after: int, on_ready: Callable[[], None]) -> Cursor:
        """A cursor on the changes that follow the version `after`, which may lie in the future.

        Raises:
            Compacted: Some of them are forgotten already.
        """
        with self._lock:
            found = self._collection(collection)
            self._next_cursor += 1
            return Cursor(self, found, self._next_cursor, found.log.position(after), after, on_ready)

    def end(self, collection: str) -> bool:
        """End a collection, and each cursor on it once it has taken what is left; False if it is not empty.

        Whoever comes late finds nothing and writes nothing, until it begins anew.
        """
        with self._lock:
            found = self._collection(collection)
            if found.objects:
                return False
            found.ended = True
            ready = found.everyone_waiting()
            # In its place, one without a past, for whoever comes late.
            late = self._collections[collection] = _Collection(self._history, self._version)
            late.ended = True
        for cursor in ready:
            cursor.on_ready()
        return True

    def begin(self, collection: str) -> None:
        """Let a collection that has ended begin anew, without a past: nobody goes on where they were."""
        with self._lock:
            if self._collection(collection).ended:
                self._collections[collection] = _Collection(self._history, self._version)

    def close(self) -> None:
        """End every cursor and let go of the journal. Idempotent."""
        with self._lock:
            self._closed = True
            ready = [cursor for found in self._collections.values() for cursor in found.everyone_waiting()]
            if self._journal:
                self._journal.close()
        for cursor in ready:
            cursor.on_ready()

    def _collection(self, name: str) -> _Collection:
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = _Collection(self._history, self._first)
        return found

    def _take(self, cursor: Cursor, limit: int) -> Batch | None:
        with self._lock:
            if self._closed:
                return None
            found = cursor.collection
            changes = found.log.slice(cursor.position, cursor.position + limit)
            cursor.position += len(changes)
            if cursor.position < found.log.end or (found.ended and changes):
                return Batch(changes, None)
            if found.ended:
                return None
            if not cursor.closed:
                found.waiting[cursor.number] = cursor
            return Batch(changes, self._version)

    def _leave(self, cursor: Cursor) -> None:
        with self._lock:
            cursor.closed = True
            cursor.collection.waiting.pop(cursor.number, None)


class Cursor:
    """One reader's place in the changes of a collection.

    `on_ready` is called once after a `take` that left nothing behind, when there is
    something again; with no lock held, from the thread that wrote.

    Threads: `take` from one at a time; `close` from any.
    """

    def __init__(
        self,
        storage: Storage,
        collection: _Collection,
        number: int,
        position: int,
        after: int,
        on_ready: Callable[[], None],
    ) -> None:
        self._storage = storage
        self._after = after
        self.collection = collection
        self.number = number
        self.position = position
        self.closed = False
        self.on_ready = on_ready

    def take(self, limit: int) -> Batch | None:
        """The next changes, at most `limit`; None once the storage is closed, or the collection has ended.

        Raises:
            Compacted: The reader was too slow: some of its changes are forgotten.
        """
        batch = self._storage._take(self, limit)
        if batch and batch.changes and batch.changes[0].version <= self._after:
            return Batch([change for change in batch.changes if change.version > self._after], batch.version)
        return batch

    def close(self) -> None:
        """Want no more. Idempotent."""
        self._storage._leave(self)
