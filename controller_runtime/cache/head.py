# SPDX-License-Identifier: Apache-2.0
"""Heads: objects of which a cache has the metadata, and whose bodies are fetched when they are read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from apimachinery.errors import NotFound, UsageError
from apimachinery.objects import Cached, ObjectKey, ObjectMeta, PlainKey
from apimachinery.plain_functions import plain
from controller_runtime.cache.delta import Delta
from controller_runtime.cache.index import IndexFunction
from controller_runtime.cache.store import Store

R = TypeVar("R")


class BodiesOf(Protocol):
    """Returns the whole objects (bodies) of one collection; see `body_source.BodySource`. Threads: any."""

    def read(self, head: Cached) -> Cached | None:
        """Return the whole object (body) for the metadata `head`; None if the object is gone."""

    def read_all(self, heads: Sequence[Cached], namespace: str, label_selector: str) -> dict[PlainKey, Cached]:
        """Return the whole objects (bodies) for some metadata, by key, without objects that are gone."""

    def is_at_hand(self, head: Cached) -> bool:
        """Return whether `read(head)` would return the whole object without a request."""

    def on_thread(self, function: Callable[[], R]) -> Awaitable[R]:
        """Call a function that reads whole objects, on another thread than the coroutine's, and return its result."""


class Head(Cached, gc=False, frozen=True, eq=False):
    """An object of which a cache has only the metadata; the rest (its body) is fetched when it is read.

    Attributes:
        of: The metadata, as the store keeps it.
        bodies: Fetches the body; None in handlers of changes, which must not wait.

    Threads: any.
    """

    of: Cached
    bodies: BodiesOf | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Head) and other.of is self.of

    def __hash__(self) -> int:
        return id(self.of)

    @property
    def raw(self) -> bytes:
        """The JSON of the whole object, fetched if it is not kept.

        Raises:
            NotFound: The object is gone.
            UsageError: The reader is a mapper, a predicate or an index, which must not wait.
        """
        if self.bodies is None:
            raise UsageError(
                f"{self.key} is here with its metadata alone, since its cache keeps bodies of some: look at its "
                "metadata (`meta`, `labels_of`, `annotations_of`), and read it by a lister in the reconcile"
            )
        found = self.bodies.read(self.of)
        if found is None:
            raise NotFound(f"{self.key} is gone", code=404)
        return found.raw

    @property
    def head(self) -> bytes:
        """The JSON of the metadata."""
        return self.of.raw

    @property
    def name(self) -> str:
        """The object's name."""
        return self.of.name

    @property
    def namespace(self) -> str:
        """The object's namespace."""
        return self.of.namespace

    @property
    def uid(self) -> str:
        """The object's uid."""
        return self.of.uid

    @property
    def resource_version(self) -> str:
        """The object's resourceVersion."""
        return self.of.resource_version

    @property
    def plain_key(self) -> PlainKey:
        """The object's name and namespace, as the store has them."""
        return self.of.plain_key

    @property
    def size(self) -> int:
        """The size of the metadata as JSON, in bytes."""
        return self.of.size


def of_heads(handler: Callable[[Delta], R], bodies: BodiesOf | None) -> Callable[[Delta], R]:
    """Return a handler for a store of metadata that calls `handler` with `Head` objects, whose bodies come from
    `bodies`.
    """

    def handle(delta: Delta) -> R:
        old, new = (None if each is None else Head(each, bodies) for each in (delta.old, delta.new))
        return handler(delta._replace(old=old, new=new))

    return handle


def index_of_heads(values_of: IndexFunction) -> IndexFunction:
    """Return an index function for a store of metadata: it calls `values_of` with objects that have only metadata."""
    plain("an index", values_of)
    return lambda cached: values_of(Head(cached, None))


def whole(found: Cached | None) -> Cached | None:
    """Return the whole object for a `Head` (its metadata), and other objects unchanged; None if the object is gone."""
    return found.bodies.read(found.of) if type(found) is Head and found.bodies is not None else found


def all_whole(found: Sequence[Cached], namespace: str = "", label_selector: str = "") -> Sequence[Cached]:
    """Return the whole objects for `Head`s, and other objects unchanged, without objects that are gone.

    Args:
        found: The objects.
        namespace: The namespace of all of them; empty if unknown.
        label_selector: The selector that all of them match; empty if unknown.
    """
    heads: dict[BodiesOf, list[Cached]] = {}
    for each in found:
        if type(each) is Head and each.bodies is not None:
            heads.setdefault(each.bodies, []).append(each.of)
    if not heads:
        return found
    bodies = {source: source.read_all(every, namespace, label_selector) for source, every in heads.items()}

    def body(each: Cached) -> Cached | None:
        return bodies[each.bodies].get(each.plain_key) if type(each) is Head and each.bodies is not None else each

    return [cached for each in found if (cached := body(each)) is not None]


def metadata_of(found: Iterable[Cached]) -> list[Cached]:
    """Return the metadata of each `Head` (an object to be fetched), and other objects unchanged; nothing is fetched."""
    return [each.of if type(each) is Head else each for each in found]


class HeadReads:
    """Reads a store of metadata as if it had whole objects; each body is fetched when it is read. A `Readable`.

    Args:
        store: The store.
        bodies: Fetches the bodies.

    Threads: any, for every method.
    """

    def __init__(self, store: Store, bodies: BodiesOf) -> None:
        self._store = store
        self._bodies = bodies

    @property
    def version(self) -> str:
        """The resourceVersion that the store has reached; empty before the first list."""
        return self._store.version

    @property
    def resets(self) -> int:
        """How often the server's data was restored from a backup."""
        return self._store.resets

    @property
    def is_partial(self) -> bool:
        """Whether the store has only a share of the collection."""
        return self._store.is_partial

    def __len__(self) -> int:
        return len(self._store)

    def get(self, key: ObjectKey) -> Cached | None:
        """Return a `Head` (metadata, the rest on demand) of the object of that key; None if there is none."""
        found = self._store.get(key)
        return None if found is None else Head(found, self._bodies)

    def list(self) -> Sequence[Cached]:
        """Return a `Head` (metadata, the rest on demand) of each object, in the order of the last list."""
        return [Head(found, self._bodies) for found in self._store.list()]

    def by_index(self, name: str, value: str) -> Sequence[Cached]:
        """Return a `Head` (metadata, the rest on demand) of each object with `value` in the index `name`."""
        return [Head(found, self._bodies) for found in self._store.by_index(name, value)]

    def behind(self, version: str) -> bool:
        """Return whether the store has not reached `version` yet."""
        return self._store.behind(version)

    def wait_for(self, version: str, timeout: float) -> bool:
        """Wait until the store has reached `version`; return True, or False after `timeout` seconds."""
        return self._store.wait_for(version, timeout)

    def staleness(self) -> float:
        """Return the seconds since the server last reported a change, or that there was none."""
        return self._store.staleness()

    def wait_until_fresh(self, within: float, timeout: float) -> bool:
        """Wait until `staleness` is at most `within` seconds; return True, or False after `timeout` seconds."""
        return self._store.wait_until_fresh(within, timeout)

    def wait_for_deletion(self, obj: ObjectMeta, timeout: float) -> bool:
        """Wait until the store shows that `obj` was deleted; return True, or False after `timeout` seconds."""
        return self._store.wait_for_deletion(obj, timeout)
