# SPDX-License-Identifier: Apache-2.0
"""The server's objects, under one version counter and one lock.

A writer reads an object, computes the new one without a lock, and commits it if the object has not changed meanwhile.
A watch reads changes through a cursor: a commit notifies the cursors that have read everything, and their readers
then take what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from apimachinery.host import Host
from embedded_apiserver.storage.collection import Collection
from embedded_apiserver.storage.history import Batch, History, rewound
from embedded_apiserver.storage.keeping import Journal
from embedded_apiserver.storage.stored import Change, Draft, Stored


class Snapshot(NamedTuple):
    """The objects of a collection at one version, sorted by key."""

    version: int
    items: list[Stored]


class Ended(Exception):
    """The collection does not accept writes, because its kind is no longer served."""


class Storage:
    """The server's objects, with versions and a limited history of changes.

    The first version is the time in microseconds since 1970, or higher if the journal has issued higher ones. So a
    client that outlives a server never has a version that is newer than those of the next server.

    Collections are named `plural.group`; keys are `namespace/name`, or only the name for cluster-scoped objects.

    Args:
        host: The source of time and locks.
        history: The limits of each collection's history; None for the defaults.
        journal: Stores the writes; None to keep objects in memory only.

    Threads: any, for every method.
    """

    on_commit: Callable[[str, Change], None] | None = None  # called after each write, on its thread, without a lock
    turns = 0  # grows whenever a collection becomes empty, or is empty no more

    def __init__(self, host: Host, history: History | None = None, journal: Journal | None = None) -> None:
        self._host, self._history, self._journal = host, history or History(), journal
        # Guards everything below, the journal, and the cursors' positions.
        self._lock = host.lock("apiserver/storage")
        self._collections: dict[str, Collection] = {}
        self._provided: dict[str, Callable[[int], Iterable[Stored]]] = {}
        self._next_cursor, self._closed = 0, False
        used, objects = journal.load() if journal else (0, ())
        self._version = self._first = max(used, int(host.now().timestamp() * 1_000_000))
        for collection, item in objects:
            self._collection(collection).put(item)

    @property
    def version(self) -> int:
        """The version of the last write to any collection."""
        return self._version  # one number, so whole without the lock

    def get(self, collection: str, key: str) -> Stored | None:
        """Return the current state of one object; None if it does not exist."""
        with self._lock:
            return self._collection(collection).objects.get(key)

    def read(self, collection: str, prefix: str = "", at: int | None = None) -> Snapshot:
        """Return the objects whose keys begin with `prefix`, at the current or an earlier version.

        Args:
            collection: The collection's name.
            prefix: The prefix of the keys, such as `namespace/`; empty for all objects.
            at: The version to read, at most the current one; None for the current one.

        Raises:
            Compacted: The history does not reach back to `at`.
        """
        with self._lock:
            found = self._collection(collection)
            items = found.range(prefix)
            if at is None:
                return Snapshot(self._version, items)
            newer = found.log.slice(found.log.position(max(at, found.born)), found.log.end)
        return Snapshot(at, rewound(items, newer, prefix) if newer else items)

    def is_empty(self, collection: str) -> bool:
        """Return whether a collection has no objects, or was never used. No lock is acquired: each write calls this."""
        return (found := self._collections.get(collection)) is None or not found.objects

    def provide(self, collection: str, make: Callable[[int], Iterable[Stored]]) -> None:
        """Provide a collection with the objects that `make` returns, except those whose keys it already has.

        `make` gets the version of the objects. It is called at the first use of the collection, under the storage's
        lock. Such an object enters the journal only when it is changed, so a deleted one exists again after a restart.
        """
        with self._lock:
            self._provided[collection] = make
            if collection in self._collections:
                self._collections[collection].fill(self._provided.pop(collection)(self._first))

    def last_changes(self, collections: Sequence[str]) -> tuple[int, ...]:
        """Return the version of the last write to each collection, in the order of `collections`."""
        with self._lock:
            return tuple([self._collection(name).changed for name in collections])

    def commit(self, collection: str, key: str, expected: Stored | None, draft: Draft | None) -> Change | None:
        """Write an object, unless it has changed since `expected` was read.

        Args:
            collection: The collection's name.
            key: The object's key.
            expected: The result of `get` on which the write is based; None to create an object.
            draft: The new object; None to delete the object.

        Returns:
            The change, which the journal has stored; None, and nothing is written, if the object is no longer
            `expected`.

        Raises:
            Ended: The collection has been ended.
            StatusError: The journal cannot store the write; nothing has changed.
        """
        now = self._host.monotonic()
        with self._lock:
            found = self._collection(collection)
            if found.ended:
                raise Ended
            if found.objects.get(key) is not expected:  # identity: each write makes a new `Stored`
                return None
            version = self._version + 1
            new = Stored(key, version, draft.at(version)) if draft else None
            if self._journal:
                self._journal.write(collection, key, version, new.raw if new else None)
            self._version = version
            found.put(new) if new else found.remove(key)
            self.turns += (not expected or not new) and len(found.objects) <= 1
            change = Change(version, now, expected, new)
            found.changed = version
            found.log.append(change)
            ready = found.take_waiting()
        if self.on_commit is not None:
            self.on_commit(collection, change)
        for notify in ready:  # without the lock: a reader may take at once
            notify()
        return change

    def follow(self, collection: str, after: int, on_ready: Callable[[], None]) -> Cursor:
        """Return a cursor that reads the changes after a version.

        Args:
            collection: The collection's name.
            after: The version. It may be higher than the current one; then changes up to it are skipped.
            on_ready: Called when there is something new, once for each `Cursor.take` that had returned all changes.

        Raises:
            Compacted: The history does not reach back to `after`.
        """
        with self._lock:
            found = self._collection(collection)
            self._next_cursor += 1
            return Cursor(self, found, self._next_cursor, found.log.position(after), after, on_ready)

    def end(self, collection: str) -> bool:
        """End a collection whose kind is no longer served; return True. If it has objects, do nothing and return False.

        Each cursor ends after its reader has taken the remaining changes. Until `begin` is called, the collection is
        empty and refuses writes, so that requests in progress cannot write to it.
        """
        with self._lock:
            found = self._collection(collection)
            if found.objects:
                return False
            found.ended = True
            ready = found.take_waiting()
            # The old collection lives on for its cursors; requests that come later get an empty one without a history.
            late = self._collections[collection] = Collection(self._history, self._version)
            late.ended = True
        for notify in ready:
            notify()
        return True

    def begin(self, collection: str) -> None:
        """Accept writes to a new or ended collection. Its history is empty, so watches from before cannot be
        resumed.
        """
        with self._lock:
            known = {**self._collections, **self._provided}
            if collection not in known or self._collection(collection).ended:
                self._collections[collection] = Collection(self._history, self._version, is_new=collection not in known)

    def forget(self, collections: Sequence[str] | None = None, *, ends_watches: bool = False) -> None:
        """Drop the recorded changes, so that all versions issued so far are expired, as if they were too old.

        Use it only for a storage without a journal, because it increases the version without a write to the journal.

        Args:
            collections: The names of the collections; None for all.
            ends_watches: True to expire also the current cursors that have read all changes.
        """
        ready = []
        with self._lock:
            self._version += 1
            self._first = self._first if collections else self._version
            for name in [*self._collections] if collections is None else collections:
                found = self._collection(name)
                found.log.forget(self._version, ends_readers=ends_watches)
                ready += found.take_waiting() if ends_watches else []
        for notify in ready:
            notify()

    def close(self) -> None:
        """End all cursors, and close the journal. Idempotent."""
        with self._lock:
            self._closed = True
            ready = [notify for found in self._collections.values() for notify in found.take_waiting()]
            if self._journal:
                self._journal.close()
        for notify in ready:
            notify()

    def _collection(self, name: str) -> Collection:
        if (found := self._collections.get(name)) is None:
            found = self._collections[name] = Collection(self._history, self._first)
            if name in self._provided:
                found.fill(self._provided.pop(name)(self._first))
        return found

    def _take(self, cursor: Cursor, limit: int) -> Batch | None:
        """Return further changes for `cursor`; a cursor that has read everything then waits for the next commit.

        See `Cursor.take`.
        """
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
                found.waiting[cursor.number] = cursor.on_ready
            return Batch(changes, self._version)

    def _leave(self, cursor: Cursor) -> None:
        with self._lock:
            cursor.closed = True
            cursor.collection.waiting.pop(cursor.number, None)


class Cursor:
    """A reader's position in the changes of a collection, made by `Storage.follow`.

    After a `take` that returned all changes, `on_ready` is called once when there is a new change, or the cursor has
    ended or expired: on the thread that caused this, with no lock held.

    Threads: `take` from one thread at a time; `close` from any.
    """

    def __init__(
        self,
        storage: Storage,
        collection: Collection,
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
        """Return at most `limit` further changes; None if an ended collection has none left, or the storage is closed.

        Raises:
            Compacted: The reader was too slow: some of its changes have been dropped.
        """
        batch = self._storage._take(self, limit)
        if batch and batch.changes and batch.changes[0].version <= self._after:
            return Batch([change for change in batch.changes if change.version > self._after], batch.version)
        return batch

    def close(self) -> None:
        """Stop the calls of `on_ready`. Idempotent."""
        self._storage._leave(self)
