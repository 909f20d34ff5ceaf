# SPDX-License-Identifier: Apache-2.0
"""The local copy of one collection: objects by key, indices, and the resourceVersion that it has reached.

The reflector's thread writes it and any thread reads it. `apply` and `replace` return what they changed as `Delta`s,
and `delivery.py` passes these to the handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apimachinery.host import Host
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, PlainKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.delta import Delta as Delta
from controller_runtime.cache.delta import change, differences
from controller_runtime.cache.forms import Form, Sharing, alone, as_received, nothing
from controller_runtime.cache.held import HELD
from controller_runtime.cache.index import Index, IndexFunction, Moves
from controller_runtime.cache.liveness import Liveness
from controller_runtime.cache.sizes import Sizes, sizes_of
from controller_runtime.client.decoding import EventType, WatchEvent


class Store:
    """The local copy of one collection.

    Each read sees the store between two writes. A reconcile sees the change that caused it, or a later state, because
    the store changes before the handlers are called. Objects are immutable.

    ResourceVersions do not go backwards: an event that is older than the object in the store is ignored, and `version`
    only grows. The exception is `replace` with an older list, which happens when the server's data was restored from a
    backup. Such a list is accepted, because the resourceVersions in the store belong to a history that no longer
    exists; `resets` counts such lists.

    Args:
        host: The source of the time and the lock.
        label: The name of the lock.
        form: Returns the form in which an object is stored. The writing thread calls it, without a lock of the store.

    Threads: any thread may read. Only one thread at a time may write (`apply`, `replace`, `exchange`, `add_index`),
        which the delivery lock ensures.
    """

    def __init__(self, host: Host, label: str = "store", form: Form = as_received) -> None:
        self._host = host
        self._form = form
        # Guards everything below; threads that wait for a version wait on it.
        self._condition = host.condition(label)
        self._objects: dict[PlainKey, Cached] = {}
        self._indices: dict[str, Index] = {}
        self._sizes = Sizes()
        self._version = ""
        self._filled = False
        self._resets = 0
        self._waiting = 0  # threads
        # Tells when the server was last heard; None for a store that no reflector fills.
        self.liveness: Liveness | None = None

    @property
    def version(self) -> str:
        """The resourceVersion that the store has reached; empty before the first list."""
        return self._version  # one reference, so whole without the lock

    @property
    def filled(self) -> bool:
        """Whether the first list is complete."""
        return self._filled  # set once and never cleared

    @property
    def resets(self) -> int:
        """How often the server's data was restored from a backup; earlier resourceVersions are then meaningless."""
        return self._resets  # one number, so whole without the lock

    @property
    def sizes(self) -> Sizes:
        """The sizes of the objects in bytes: in memory and as JSON."""
        return self._sizes  # one reference, so whole without the lock

    @property
    def is_partial(self) -> bool:
        """Whether the store has only a share of the collection: False here."""
        return False

    def __len__(self) -> int:
        return len(self._objects)  # one number, so whole without the lock

    def get(self, key: ObjectKey) -> Cached | None:
        """Return the object of that key; None if there is none.

        In work under `holding`, return the state that this work may see.
        """
        with self._condition:
            found = self._objects.get(key)
        held = HELD.get()
        return found if held is None else held.read(self, key, found)

    def stored(self, key: PlainKey) -> Cached | None:
        """Return the object of that key, regardless of `holding`; None if there is none."""
        return self._objects.get(key)  # a look-up in a dict is whole, and the dict is replaced as a whole

    def by_index(self, name: str, value: str) -> tuple[Cached, ...]:
        """Return the objects that have `value` in the index `name`.

        Raises:
            KeyError: There is no such index.
        """
        with self._condition:
            keys = self._indices[name].keys.get(value, {})
            return tuple(self._objects[key] for key in keys)

    def index_values(self, name: str) -> tuple[str, ...]:
        """Return the distinct values in the index `name`.

        Raises:
            KeyError: There is no such index.
        """
        with self._condition:
            return tuple(self._indices[name].keys)

    def wait_for(self, version: str, timeout: float) -> bool:
        """Wait until the store has reached `version`; return True, or False after `timeout` seconds."""
        return self._wait(lambda: not self.behind(version), timeout)

    def staleness(self) -> float:
        """Return the seconds since the server last reported a change or that there was none; infinite before a list."""
        if not self._filled:  # set once and never cleared
            return float("inf")
        return 0.0 if self.liveness is None else self._host.monotonic() - self.liveness.told_at

    def wait_until_fresh(self, within: float, timeout: float) -> bool:
        """Wait until `staleness` is at most `within` seconds; return True, or False after `timeout` seconds."""
        return self._wait(lambda: self.staleness() <= within, timeout)

    def wait_for_deletion(self, obj: ObjectMeta, timeout: float) -> bool:
        """Wait until the store shows that `obj` was deleted; return True, or False after `timeout` seconds.

        The store shows this if the object is absent, or has a deletion timestamp (a finalizer or a grace period delays
        its end), or another object has its name.
        """
        key = ObjectKey(obj.name, obj.namespace)

        def is_deleted() -> bool:
            stored = self._objects.get(key)  # `_wait` holds the lock
            is_gone = stored is None or stored.uid != obj.uid or stored.meta.deletion_timestamp is not None
            # While the store is behind `obj`, the object may be absent because it has yet to arrive.
            return is_gone and not self.behind(obj.resource_version)

        return self._wait(is_deleted, timeout)

    def _wait(self, condition: Callable[[], bool], timeout: float) -> bool:
        deadline = self._host.monotonic() + timeout
        with self._condition:
            self._waiting += 1
            try:
                while not condition():
                    if self._host.monotonic() >= deadline:
                        return False
                    self._condition.wait_until(deadline)
            finally:
                self._waiting -= 1
        return True

    def behind(self, version: str) -> bool:
        """Return whether the store has not reached `version` yet. It is cheap: it takes no lock."""
        return compare_versions(self._version, version) < 0  # one reference, so whole without the lock

    def equal_to(self, cached: Cached) -> Cached | None:
        """Return the object in the store whose version and bytes equal those of `cached`; None if there is none."""
        # Without the lock: a look-up in a dict is whole, objects are immutable, and one that is missed at this instant
        # is only kept twice.
        stored = self._objects.get(cached.plain_key)
        if stored is None or stored is cached:
            return stored
        # The versions first, since the bytes have to be unpacked. They can be equal where the bytes are not: after a
        # backup was restored, one version can name two states.
        is_equal = stored.resource_version == cached.resource_version and stored.raw == cached.raw
        return stored if is_equal else None

    def to_store(self, cached: Cached, shared: Callable[[Cached], Cached | None] = nothing) -> Cached:
        """Return the object to store for a listed one: an equal one here, one that `shared` finds, or a new form."""
        if (own := self.equal_to(cached)) is not None:
            return own
        # Of the state before only the key is used, so it is taken without the lock.
        return self._form(cached, self._objects.get(cached.plain_key), shared(cached))

    def exchange(self, pairs: Iterable[tuple[Cached, Cached]]) -> None:
        """Replace the first object of each pair, if it is still in the store, by another form of it, the second."""
        with self._condition:
            for old, new in pairs:
                if self._objects.get(old.plain_key) is old:
                    self._objects[old.plain_key] = new
                    self._sizes = self._sizes.changed(old, new)

    def add_index(self, name: str, values_of: IndexFunction) -> None:
        """Index all current and future objects by the values that `values_of` returns for each.

        Raises:
            ValueError: The name is taken.
        """
        if name in self._indices:  # without the lock, because no other thread writes
            raise ValueError(f"there is an index {name!r} already: use another name")
        index = Index(values_of).over(self._objects)  # without the lock, because no other thread writes
        with self._condition:
            self._indices[name] = index

    def apply(self, event: WatchEvent, sharing: Sharing = alone) -> Delta | None:
        """Apply one event, and return the change; None if no object has changed.

        Args:
            event: The event.
            sharing: Finds an equal object of another store, which the store may keep in place of the event's.

        Raises:
            Exception: An index function raised it; the store is then unchanged.
        """
        if event.cached is None:
            with self._condition:
                self._reach(event.version)
            return None
        key = event.cached.plain_key
        old = self._objects.get(key)  # without the lock, because no other thread writes
        new = None if event.type is EventType.DELETED else event.cached
        age = 1 if old is None else compare_versions(event.version, old.resource_version)
        if age < 0:
            return None  # a list has brought a newer state before this event came
        if old is None and new is None:
            with self._condition:
                self._reach(event.version)
            return None
        # The index functions are user code, so they run before the lock is taken and before anything is changed.
        moves = [(index, index.values(old), index.values(new)) for index in self._indices.values()]
        if sharing is alone:  # a block would cost as much as the rest
            self._put(key, old, new, None, event.version, moves)
        else:
            with sharing() as shared:
                self._put(key, old, new, None if new is None else shared(new), event.version, moves)
        if age == 0 and old is not None and new is not None and old.uid == new.uid:
            return None
        return change((old, new, False))

    def _put(
        self, key: PlainKey, old: Cached | None, new: Cached | None, found: Cached | None, version: str, moves: Moves
    ) -> None:
        """Replace `old` by a form of `new`, or by `found`, the equal object of another store."""
        kept = None if new is None else self._form(new, old, found)
        # Without the lock, because no other thread writes.
        sizes = self._sizes.changed(old, kept, None if new is None else len(new.raw))
        with self._condition:
            if kept is None:
                del self._objects[key]
            else:
                self._objects[kept.plain_key] = kept  # its own key, so that there is one
            for index, before, after in moves:
                index.move(key, before, after)
            self._sizes = sizes
            self._reach(version)

    def _reach(self, version: str) -> None:
        if compare_versions(self._version, version) < 0:
            self._version = version
        if self._waiting:
            self._condition.notify_all()

    def replace(self, objects: dict[PlainKey, Cached], version: str, sharing: Sharing = alone) -> list[Delta]:
        """Replace the content of the store by a list, and return the differences, deletions first.

        Args:
            objects: The listed objects by key, as returned by `to_store`. The store keeps this dict.
            version: The resourceVersion of the list.
            sharing: Finds equal objects of other stores, which are then stored instead.

        Raises:
            Exception: An index function raised it; the store is then unchanged.
        """
        # The index functions are user code, so they run before any lock is taken.
        indices = {name: index.over(objects) for name, index in self._indices.items()}
        with sharing() as shared:
            if sharing is not alone:
                for key, cached in objects.items():
                    objects[key] = shared(cached) or cached
            # Without the lock, because no other thread writes.
            went_back = compare_versions(version, self._version) < 0
            deltas = differences(self._objects, objects, initial=not self._filled, went_back=went_back)
            sizes = sizes_of(objects.values())
            with self._condition:
                self._objects = objects
                self._indices = indices
                self._sizes = sizes
                self._version = version
                self._resets += went_back
                self._filled = True
                self._reach(version)  # wakes those that wait
        return deltas

    def list(self) -> list[Cached]:
        """Return all objects, in the order of the last list; objects that were added since then come last."""
        with self._condition:
            return [*self._objects.values()]
