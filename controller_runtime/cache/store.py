# SPDX-License-Identifier: Apache-2.0
"""The local copy of one collection: objects by name, indices, and the version it stands at.

It is written by its reflector's thread and read by everybody. A change comes back as a
`Delta`, for whoever is to be told; the store itself tells nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from controller_runtime.api.objects import Cached, ObjectKey, ObjectMeta, PlainKey
from controller_runtime.api.versions import compare_versions, newest
from controller_runtime.client.decoding import EventType, WatchEvent
from controller_runtime.core.host import Host


class Delta(NamedTuple):
    """One change of the store: an object appeared (no `old`), changed, or went (no `new`).

    An object that was deleted and created again between two looks is one change whose
    two sides differ in `uid`.

    Attributes:
        old: What the store held before.
        new: What it holds now.
        initial: It was there when the cache first filled, or when the handler came late.
    """

    old: Cached | None
    new: Cached | None
    initial: bool = False

    @property
    def object(self) -> Cached:
        """The object as it is now, or as it last was."""
        found = self.new if self.new is not None else self.old
        assert found is not None, "a delta without an object"
        return found

    @property
    def key(self) -> ObjectKey:
        """The object's name and namespace."""
        return self.object.key


IndexFunction = Callable[[Cached], Iterable[str]]
"""The values under which an object is found: pure, so that it says the same each time."""


class Index:
    """Names by the values of one index function. Threads: its store's lock guards it."""

    def __init__(self, values_of: IndexFunction) -> None:
        self._values_of = values_of
        # A value is here only if some object has it; dicts for sets, because they keep an order.
        self.keys: dict[str, dict[PlainKey, None]] = {}

    def values(self, cached: Cached | None) -> tuple[str, ...]:
        """What the function says of an object; calls code that is not ours, so never under the lock."""
        return () if cached is None else tuple(self._values_of(cached))

    def move(self, key: PlainKey, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        """Take the object from its old values to its new ones."""
        for value in old:
            holders = self.keys.get(value, {})
            holders.pop(key, None)
            if not holders:  # else values that come and go would pile up
                self.keys.pop(value, None)
        for value in new:
            self.keys.setdefault(value, {})[key] = None

    def over(self, objects: Mapping[PlainKey, Cached]) -> Index:
        """A new index by the same function over `objects`."""
        fresh = Index(self._values_of)
        for key, cached in objects.items():
            fresh.move(key, (), self.values(cached))
        return fresh


class Store:
    """The local copy of one collection.

    Each read answers from one state. A reader sees the state that caused a request, or
    a later one, because the store changes before anyone is told. Objects are immutable.

    Versions do not go backwards: an event about an object that is older than the one
    held is ignored, and `version` only grows. The exception is `replace` with an older
    version, which happens when the server itself went back (its data was restored from
    a backup): a list that the server calls its most recent state is believed, because
    the versions held belong to a history that no longer exists.

    Threads: reads from any. Writes (`apply`, `replace`, `add_index`) one at a time,
    which the informer's delivery lock sees to.
    """

    def __init__(self, host: Host, label: str = "store") -> None:
        self._host = host
        # Guards everything below; whoever waits for a version waits on it.
        self._condition = host.condition(label)
        self._objects: dict[PlainKey, Cached] = {}
        self._indices: dict[str, Index] = {}
        self._version = ""
        self._filled = False
        self._resets = 0

    @property
    def version(self) -> str:
        """The version that the store has reached; empty before the first list."""
        return self._version

    @property
    def filled(self) -> bool:
        """True once the first list is in."""
        return self._filled

    @property
    def resets(self) -> int:
        """How often the server went back, so that versions from before mean nothing any more."""
        return self._resets

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: ObjectKey) -> Cached | None:
        """The object of that name, if there is one."""
        with self._condition:
            return self._objects.get(key)

    def by_index(self, name: str, value: str) -> tuple[Cached, ...]:
        """The objects that have `value` in the index `name`.

        Raises:
            KeyError: There is no such index.
        """
        with self._condition:
            keys = self._indices[name].keys.get(value, {})
            return tuple(self._objects[key] for key in keys)

    def index_values(self, name: str) -> tuple[str, ...]:
        """The distinct values in the index `name`.

        Raises:
            KeyError: There is no such index.
        """
        with self._condition:
            return tuple(self._indices[name].keys)

    def wait_for(self, version: str, timeout: float) -> bool:
        """Wait until the store has reached `version`, such as a write returned; True if it has in `timeout` seconds."""
        return self._wait(lambda: not self.behind(version), timeout)

    def wait_for_deletion(self, obj: ObjectMeta, timeout: float) -> bool:
        """Wait until the store shows that `obj` was deleted; True if it does in `timeout` seconds.

        It does once the object is gone, or another has taken its name, or a finalizer or a
        grace period holds it and it says that it is to go.
        """
        request = ObjectKey(obj.name, obj.namespace)

        def shows_it() -> bool:
            held = self._objects.get(request)
            goes = held is None or held.uid != obj.uid or held.meta.deletion_timestamp is not None
            return goes and not self.behind(obj.resource_version)  # else it may still be to come

        return self._wait(shows_it, timeout)

    def _wait(self, is_so: Callable[[], bool], timeout: float) -> bool:
        deadline = self._host.monotonic() + timeout
        with self._condition:
            while not is_so():
                if self._host.monotonic() >= deadline:
                    return False
                self._condition.wait_until(deadline)
        return True

    def behind(self, version: str) -> bool:
        """Whether the store has yet to reach `version`; an attribute read, so cheap."""
        return compare_versions(self._version, version) < 0

    def kept(self, cached: Cached) -> Cached:
        """The object the store holds in place of an equal one, so that a relist need not double the memory."""
        held = self._objects.get(cached.plain_key)  # without the lock: nobody else writes
        return held if held is not None and held.raw == cached.raw else cached

    def add_index(self, name: str, values_of: IndexFunction) -> None:
        """Index every object, those already here included, by what `values_of` says of it.

        Raises:
            ValueError: The name is taken.
        """
        if name in self._indices:
            raise ValueError(f"there is an index {name!r} already")
        index = Index(values_of).over(self._objects)  # read without the lock: nobody else writes
        with self._condition:
            self._indices[name] = index

    def apply(self, event: WatchEvent) -> Delta | None:
        """Take in one event; returns the change, if it makes one.

        Raises:
            Exception: What an index function raises; the store is unchanged then.
        """
        if event.cached is None:
            self._commit(event.version)
            return None
        key = event.cached.plain_key
        old = self._objects.get(key)
        new = None if event.type is EventType.DELETED else event.cached
        if old is not None and compare_versions(event.version, old.resource_version) < 0:
            return None
        if old is None and new is None:
            self._commit(event.version)
            return None
        moves = [(index, index.values(old), index.values(new)) for index in self._indices.values()]
        with self._condition:
            if new is None:
                del self._objects[key]
            else:
                self._objects[key] = new
            for index, before, after in moves:
                index.move(key, before, after)
            self._version = newest(self._version, event.version)
            self._condition.notify_all()
        if old is not None and new is not None and _same(old, new):
            return None
        return Delta(old, new)

    def replace(self, objects: dict[PlainKey, Cached], version: str) -> list[Delta]:
        """Take in a whole list; returns exactly what differs, deletions first.

        The dict becomes the store's own.

        Raises:
            Exception: What an index function raises; the store is unchanged then.
        """
        went_back = compare_versions(version, self._version) < 0
        initial = not self._filled
        held = self._objects
        deltas = [Delta(old, None) for key, old in held.items() if key not in objects]
        for key, new in objects.items():
            old = held.get(key)
            # In a history that was reset, one version can name two states.
            if old is None or not _same(old, new) or (went_back and old.raw != new.raw):
                deltas.append(Delta(old, new, initial))
        indices = {name: index.over(objects) for name, index in self._indices.items()}
        with self._condition:
            self._objects = objects
            self._indices = indices
            self._version = version
            self._resets += went_back
            self._filled = True
            self._condition.notify_all()
        return deltas

    def _commit(self, version: str) -> None:
        with self._condition:
            self._version = newest(self._version, version)
            self._condition.notify_all()

    def list(self) -> list[Cached]:
        """Every object, the oldest in the store first."""
        with self._condition:
            return [*self._objects.values()]


def _same(old: Cached, new: Cached) -> bool:
    return old is new or (old.resource_version == new.resource_version and old.uid == new.uid)
