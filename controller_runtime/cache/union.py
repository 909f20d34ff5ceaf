# SPDX-License-Identifier: Apache-2.0
"""Reads several stores of one kind as one, and lets stores share the memory of equal objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from apimachinery.host import Host
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, PlainKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.forms import Sharing
from controller_runtime.cache.store import Store


class Readable(Protocol):
    """The reading methods of a store or a `Union`, on which listers are built."""

    @property
    def version(self) -> str:
        """The resourceVersion that the store has reached; empty before the first list."""

    @property
    def resets(self) -> int:
        """How often the server's data was restored from a backup."""

    @property
    def is_partial(self) -> bool:
        """Whether the store has only a share of the objects."""

    def __len__(self) -> int: ...

    def get(self, key: ObjectKey) -> Cached | None:
        """Return the object of that key; None if there is none."""

    def list(self) -> Sequence[Cached]:
        """Return all objects."""

    def by_index(self, name: str, value: str) -> Sequence[Cached]:
        """Return the objects that have `value` in the index `name`."""

    def behind(self, version: str) -> bool:
        """Return whether the store has not reached `version` yet."""

    def wait_for(self, version: str, timeout: float) -> bool:
        """Wait until the store has reached `version`; return True, or False after `timeout` seconds."""

    def staleness(self) -> float:
        """Return the seconds since the server last reported a change, or by a bookmark that there was none."""

    def wait_until_fresh(self, within: float, timeout: float) -> bool:
        """Wait until `staleness` is at most `within` seconds; return True, or False after `timeout` seconds."""

    def wait_for_deletion(self, obj: ObjectMeta, timeout: float) -> bool:
        """Wait until the store shows that `obj` was deleted; return True, or False after `timeout` seconds."""


def stores_of(readable: Readable) -> Sequence[Readable]:
    """Return the stores behind `readable`: those of a `Union`, or `readable` itself."""
    return readable.stores if isinstance(readable, Union) else [readable]


class Union:
    """Reads several stores of one kind as one store: each object once, in its newest state.

    Each store follows the server independently. So an object that leaves one collection and enters another, because a
    label has changed, may for a moment be in both or in neither.

    Args:
        host: The source of the time.
        stores: The stores, at least two.

    Threads: any, for every method.
    """

    def __init__(self, host: Host, stores: Sequence[Readable]) -> None:
        self._host = host
        self._stores = stores

    @property
    def stores(self) -> Sequence[Readable]:
        """The stores that are read."""
        return self._stores

    @property
    def version(self) -> str:
        """The resourceVersion that all stores have reached; empty until each has its first list."""
        first, *others = [store.version for store in self._stores]
        for version in others:
            first = first if compare_versions(first, version) <= 0 else version
        return first

    @property
    def resets(self) -> int:
        """How often the server's data was restored from a backup, summed over the stores."""
        return sum(store.resets for store in self._stores)

    @property
    def is_partial(self) -> bool:
        """Whether any store has only a share of its objects."""
        return any(store.is_partial for store in self._stores)

    def __len__(self) -> int:
        return len(self._found(store.list() for store in self._stores))

    def get(self, key: ObjectKey) -> Cached | None:
        """Return the newest state of the object of that key; None if no store has it."""
        found = [cached for store in self._stores if (cached := store.get(key)) is not None]
        return max(found, key=_age_of) if found else None

    def list(self) -> Sequence[Cached]:
        """Return every object once, in the order of the stores."""
        return [*self._found(store.list() for store in self._stores).values()]

    def by_index(self, name: str, value: str) -> Sequence[Cached]:
        """Return the objects that have `value` in the index `name`, which every store must have.

        Raises:
            KeyError: A store has no such index.
        """
        found = self._found(store.by_index(name, value) for store in self._stores)
        # A store that is behind may hold an object under a value that its newest state, in another store, has not.
        return [each for key, each in found.items() if self.get(ObjectKey(*key)) in (each, None)]

    def behind(self, version: str) -> bool:
        """Return whether any store has not reached `version` yet."""
        return any(store.behind(version) for store in self._stores)

    def wait_for(self, version: str, timeout: float) -> bool:
        """Wait until every store has reached `version`; return True, or False after `timeout` seconds."""
        return all(store.wait_for(version, left) for store, left in self._left(timeout))

    def staleness(self) -> float:
        """Return the greatest `staleness` of the stores, in seconds."""
        return max(store.staleness() for store in self._stores)

    def wait_until_fresh(self, within: float, timeout: float) -> bool:
        """Wait until `staleness` is at most `within` seconds; return True, or False after `timeout` seconds."""
        waited = all(store.wait_until_fresh(within, left) for store, left in self._left(timeout))
        return waited and self.staleness() <= within

    def wait_for_deletion(self, obj: ObjectMeta, timeout: float) -> bool:
        """Wait until every store shows that `obj` was deleted; return True, or False after `timeout` seconds."""
        return all(store.wait_for_deletion(obj, left) for store, left in self._left(timeout))

    def _left(self, timeout: float) -> Iterator[tuple[Readable, float]]:
        deadline = self._host.monotonic() + timeout
        for store in self._stores:
            yield store, max(0.0, deadline - self._host.monotonic())

    @staticmethod
    def _found(parts: Iterator[Sequence[Cached]]) -> dict[PlainKey, Cached]:
        found: dict[PlainKey, Cached] = {}
        for part in parts:
            for cached in part:
                other = found.setdefault(cached.plain_key, cached)
                if other is not cached and compare_versions(other.resource_version, cached.resource_version) < 0:
                    found[cached.plain_key] = cached
        return found


class Peers:
    """The stores of one resource, which share the bytes of equal objects.

    Args:
        host: Creates the lock.

    Attributes:
        stores: The stores; replaced as a whole, under the lock of the informers.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        self.stores: tuple[Store, ...] = ()
        # Guards nothing but the order: while one store looks for an object in the others and takes it, no other store
        # does. Else two that receive it at one instant would both keep their own. No user code runs under it.
        self._lock = host.lock("stores that share objects")

    def shared(self, own: Store, cached: Cached) -> Cached | None:
        """Return the equal object of a store other than `own`; None if there is none."""
        for store in self.stores:
            if store is not own and (found := store.equal_to(cached)) is not None:
                return found
        return None

    def sharing(self, own: Store) -> Sharing:
        """Return the `Sharing` that `own` passes to its changes, to reuse equal objects of the other stores."""

        @contextmanager
        def block() -> Iterator[Callable[[Cached], Cached | None]]:
            with self._lock:
                yield partial(self.shared, own)

        return block


def _age_of(cached: Cached) -> tuple[int, str]:
    """Return a value that is larger for a newer resourceVersion; see `compare_versions`."""
    return len(cached.resource_version), cached.resource_version
