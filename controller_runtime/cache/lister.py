# SPDX-License-Identifier: Apache-2.0
"""Typed reads of a store; each returns objects that belong to the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Self, TypeVar

from apimachinery.errors import DecodeError, StaleCache, UsageError
from apimachinery.log import get_logger
from apimachinery.objects import AnyObject, Cached, ObjectKey, labels_of, meta
from apimachinery.selectors import LabelSelector
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.cache.head import Head, all_whole, metadata_of
from controller_runtime.cache.observed import ObservedReads
from controller_runtime.cache.union import Readable
from controller_runtime.core.story import current_steps

log = get_logger(__name__)

T = TypeVar("T")


class Lister(Generic[T]):
    """Reads one collection from its store, as objects of one class.

    Each read decodes new objects, so changing one does not change the store. Reads show the state of the cache, which
    may be behind the server; `behind` and `wait_for` compare the cache with a resourceVersion that the caller knows.

    Args:
        store: The store to read, or a `Union` of several.
        resource: The resource of the objects in the store.
        view: The class to decode into; None for the default class of the resource.

    Raises:
        ValueError: `view` has fields that objects of this kind cannot have.

    Threads: any, for every method.
    """

    def __init__(self, store: Readable, resource: Kind[Any], view: type[T] | None = None) -> None:
        self._resource = resource_of(resource)
        self._reads = ObservedReads(self._resource, store)
        self._decode = decoder_for(view, self._resource)

    @property
    def version(self) -> str:
        """The resourceVersion that the store has reached; empty before the first list."""
        return self._reads.version

    @property
    def resource(self) -> Resource[Any]:
        """The resource of the objects."""
        return self._resource

    @property
    def source(self) -> Readable:
        """The store, or union of stores, that this lister reads."""
        return self._reads.store

    @property
    def resets(self) -> int:
        """How often the server's data was restored from a backup.

        After a restore, earlier resourceVersions are meaningless.
        """
        return self._reads.resets

    @property
    def is_partial(self) -> bool:
        """Whether reads show only this replica's share of the objects (`Ring.divide`), so that others are missing."""
        return self._reads.is_partial

    def __len__(self) -> int:
        return self._reads.count()

    def get(self, key: ObjectKey) -> T | None:
        """Return the object of that key; None if the store has none.

        With a cache that keeps only some objects whole (`CacheScope.bodies`), this may send a request; see `Bodies`.

        Raises:
            UnreadableObject: The object cannot be decoded into the class of this lister.
            UsageError: A request would be needed, but the caller is a mapper, a predicate or an index, which must not
                wait.
            StaleCache: The fetched object is older than its metadata, since the server's data was restored from a
                backup.
            APIError: The server refused the request.
            ConnectionLost: The server gave no answer.
        """
        cached = self._reads.get(key)
        if (steps := current_steps()) is not None:
            version = "absent" if cached is None else cached.resource_version
            steps.read(("get", self._resource, key, version))
        return None if cached is None else self._decode(cached.raw)

    async def body(self, key: ObjectKey) -> T | None:
        """Return the object of that key as `get` does, but let other coroutines run during a request.

        It differs from `get` only with a cache that keeps only some objects whole (`CacheScope.bodies`).

        Raises:
            Exception: The object cannot be decoded or fetched; the errors are those of `get`.
        """
        found = self.source.get(key)
        if type(found) is Head and found.bodies is not None and not found.bodies.is_at_hand(found.of):
            return await found.bodies.on_thread(lambda: self.get(key))
        return self.get(key)

    def keys(self) -> list[ObjectKey]:
        """Return the keys of all objects; nothing is decoded."""
        found = [cached.key for cached in self._reads.select("keys", "", lambda: metadata_of(self.source.list()))]
        self._note("keys", "", len(found))
        return found

    def keys_by_index(self, name: str, value: str) -> list[ObjectKey]:
        """Return the keys of the objects that have `value` in the index `name`; nothing is decoded.

        Raises:
            UsageError: There is no such index.
        """
        found = [cached.key for cached in self._indexed(name, value, self._reads.metadata_by_index)]
        self._note("keys_by_index", f"{name}={value}", len(found))
        return found

    def by_index(self, name: str, value: str) -> list[T]:
        """Return the objects that have `value` in the index `name`, without those that cannot be decoded; see `list`.

        Raises:
            UsageError: There is no such index.
        """
        found = self._decoded(self._indexed(name, value, self._reads.by_index))
        self._note("by_index", f"{name}={value}", len(found))
        return found

    def _indexed(self, name: str, value: str, read: Callable[[str, str], Sequence[Cached]]) -> Sequence[Cached]:
        try:
            return read(name, value)
        except KeyError:
            raise UsageError(
                f"{self._resource} have no index {name!r}: add it before the manager starts, by "
                f"`manager.informer(…).add_index({name!r}, …)`"
            ) from None

    def staleness(self) -> float:
        """Return the seconds since the server last reported a change, or by a bookmark that there was none.

        The cache shows a state that the server had at most so long ago, plus the time that a message takes.
        """
        return self._reads.staleness()

    def fresh(self, within: float, *, wait: float = 0.0) -> Self:
        """Return this lister, if its cache is not too old: `pods.fresh(within=120).list()`.

        A server reports each change at once, and about once a minute that there was none; for a quiet kind a silence of
        121 s was measured. So a limit below two minutes sometimes rejects a healthy cache. In a reconcile the error
        causes a retry.

        Args:
            within: The greatest `staleness` that is accepted, in seconds.
            wait: The most seconds to wait for a report of the server, if `staleness` is greater.

        Raises:
            StaleCache: The server has reported nothing for longer than `within`.
        """
        if not self._reads.wait_until_fresh(within, wait):
            age = self._reads.staleness()
            raise StaleCache(f"the cache of {self._resource} was last told {age:.1f} s ago, more than {within:g} s")
        return self

    def behind(self, version: str) -> bool:
        """Return whether the cache has not reached `version` yet. It is cheap, for reconcilers that must not wait."""
        return self._reads.behind(version)

    def wait_for(self, version: str, timeout: float) -> bool:
        """Wait until the cache has reached a resourceVersion; return True, or False after `timeout` seconds.

        Args:
            version: The resourceVersion, such as that of the answer to a write.
            timeout: The most seconds to wait.
        """
        return self._reads.wait_for(version, timeout)

    def wait_for_deletion(self, obj: AnyObject, timeout: float) -> bool:
        """Wait until the cache shows that `obj` was deleted; return True, or False after `timeout` seconds.

        The cache shows this if the object is absent, or has a deletion timestamp (a finalizer or a grace period delays
        its end), or another object has its name.

        Args:
            obj: The object, as it was read before its deletion.
            timeout: The most seconds to wait.

        Raises:
            DecodeError: `obj` has no readable metadata.
        """
        return self._reads.wait_for_deletion(meta(obj), timeout)

    def _decoded(self, found: Iterable[Cached]) -> list[T]:
        out = []
        for cached in found:
            try:
                out.append(self._decode(cached.raw))
            except DecodeError as error:
                log.warning("object left out of a list", resource=self._resource, error=error)
        return out

    def list(self, namespace: str = "", selector: str = "") -> list[T]:
        """Return the objects that match a label selector (empty: all) in a namespace (empty: all namespaces).

        An object that cannot be decoded into the class of this lister is logged and left out, so that a single
        malformed object does not stop every controller that lists; `get` raises for it. A cache that keeps only some
        objects whole (`CacheScope.bodies`) may list the others from the server.

        Raises:
            ValueError: The selector is malformed.
        """
        labels = LabelSelector.parse(selector)
        what = f"{namespace} {selector}".strip()
        found = self._decoded(
            self._reads.select("list", f"{namespace} {selector}", lambda: self._matching(namespace, labels))
        )
        self._note("list", what, len(found))
        return found

    def _matching(self, namespace: str, labels: LabelSelector) -> Sequence[Cached]:
        found = [
            cached
            for cached in self.source.list()
            if (not namespace or cached.namespace == namespace)
            and (labels.is_everything or labels.matches(labels_of(cached)))
        ]
        bodies = all_whole(found, namespace, str(labels))
        if bodies is found or labels.is_everything:
            return bodies
        # A body may be newer than the metadata by which it was found, and have other labels by then.
        chosen = {(each.plain_key, each.resource_version) for each in found}
        return [
            each
            for each in bodies
            if (each.plain_key, each.resource_version) in chosen or labels.matches(labels_of(each))
        ]

    def _note(self, verb: str, what: str, count: int) -> None:
        """Add a read to the steps of the reconcile that is being recorded, if one is."""
        if (steps := current_steps()) is not None:
            steps.read((verb, self._resource, what, f"{count} objects"))
