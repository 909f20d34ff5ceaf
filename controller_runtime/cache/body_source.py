# SPDX-License-Identifier: Apache-2.0
"""Provides the whole objects (bodies) of one collection: from a second watch, from memory, or from the server."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from apimachinery.errors import ControllerRuntimeError, DecodeError, UsageError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import Cached, PlainKey
from controller_runtime.api.collection import Collection
from controller_runtime.cache.bodies import FEW, Bodies, Body, Seen, by_pages, fits
from controller_runtime.cache.body_cache import BodyCache
from controller_runtime.cache.body_requests import BodyFetcher, BodyRequests
from controller_runtime.cache.delivering import is_delivering
from controller_runtime.cache.delta import Delta
from controller_runtime.cache.held import HELD
from controller_runtime.cache.large import bound_of
from controller_runtime.cache.store import Store
from controller_runtime.cache.transforms import Transform
from controller_runtime.core.memory import memory_limit

log = get_logger(__name__)

T = TypeVar("T")


class BodySource:
    """Returns the whole objects (bodies) of a collection of which a cache has the metadata, and keeps some of them.

    No lock is held during a request to the server. Two threads that need the same body may both request it.

    Args:
        host: The source of the time and the lock.
        collection: The objects.
        bodies: Selects the objects that are kept.
        requests: How bodies are requested.
        transform: Changes each body; None changes nothing.
        warn_at: The bytes of selected bodies at which one warning is logged; None for the limit of `LargeCache`.

    Attributes:
        collection: As given.
        kept: The bodies that are kept.

    Threads: any, after `follow`.
    """

    def __init__(
        self,
        host: Host,
        collection: Collection,
        bodies: Bodies,
        requests: BodyRequests,
        transform: Transform | None = None,
        warn_at: int | None = None,
    ) -> None:
        self.kept = BodyCache(host, str(collection), bodies.memory)
        self.collection = collection
        self._bodies = bodies
        self._requests = requests
        self._fetcher = BodyFetcher(host, collection, requests, transform)
        self._heads: Store | None = None
        self._watched: Store | None = None
        self._resets_before = 0  # restores that the second watch had seen before
        self._has_warned = False
        self._warn_at: float = bound_of(memory_limit()) if warn_at is None else warn_at

    def follow(self, heads: Store, watched: Store | None) -> None:
        """Set the store of the metadata, and the store that the second watch fills; None without such a watch."""
        self._heads, self._watched = heads, watched
        if watched is not None:  # other readers may have had it for long
            self._resets_before = watched.resets - heads.resets

    def changed(self, delta: Delta) -> None:
        """Drop the kept object if it was deleted, or has changed and no longer answers reads. A handler of changes."""
        self.kept.changed(delta, self._seen())

    def fetch_chosen(self, delta: Delta) -> None:
        """Fetch the body of a changed object if the options' function selects the object.

        The cache of metadata calls this for each change, on a thread of its own. A failed request is ignored: the body
        is then fetched when it is read. If the cache has a newer state by now, nothing is fetched, because the next
        call is for that state.
        """
        if delta.new is None or not self._is_shown(delta.new):
            return
        is_chosen = self._is_chosen(delta.new)
        if not is_chosen or self._at_hand(delta.new) is not None:
            self.kept.place(delta.new.plain_key, chosen=is_chosen)
            return
        try:
            self._fetched(delta.new)
            self._warn_if_large()
        except ControllerRuntimeError as error:
            log.debug("chosen body not fetched", collection=self.collection, key=delta.key, error=error)

    def forget_others(self) -> None:
        """Drop the kept objects that the cache of the metadata has dropped without a change."""
        if (heads := self._heads) is not None:
            self.kept.keep_only(lambda key: heads.stored(key) is not None)

    def is_at_hand(self, head: Cached) -> bool:
        """Return whether `read(head)` would return the whole object without a request."""
        return self._at_hand(head) is not None

    def read(self, head: Cached) -> Cached | None:
        """Return the body for the metadata `head`, no older than `head`; None if the object is gone or was replaced.

        Raises:
            UsageError: The body must be fetched, but the caller runs under the delivery lock of a cache, where it must
                not wait.
            StaleCache: The server's object is older than `head`.
            APIError: The server refused the request.
            ConnectionLost: The server gave no answer.
            DecodeError: The body cannot be read.
        """
        body = self._at_hand(head)
        self.kept.count(hits=body is not None, misses=body is None)
        if body is None:
            self._refuse_waiting(head)
            body = self._fetched(head)
        return self._in_hands(head, body)

    def read_all(
        self, heads: Sequence[Cached], namespace: str = "", label_selector: str = ""
    ) -> dict[PlainKey, Cached]:
        """Return the whole objects (bodies) for objects of which the cache has the metadata, by key; omit those that
        are gone.

        If many bodies are missing, they are fetched by listing pages, and not kept afterwards: they would displace
        those that are read one by one.

        Args:
            heads: The metadata of the objects.
            namespace: The namespace of all of them; empty if unknown.
            label_selector: The selector that all of them match; empty if unknown.

        Raises:
            ControllerRuntimeError: A body could not be fetched; the errors are those of `read`.
        """
        found = {head.plain_key: body for head in heads if (body := self._at_hand(head)) is not None}
        absent = {head.plain_key: head for head in heads if head.plain_key not in found}
        self.kept.count(hits=len(found), misses=len(absent))
        if absent:
            self._refuse_waiting(next(iter(absent.values())))
        self._warn_once(len(absent))
        listed = len(heads) if namespace or label_selector else max(len(heads), self._count())
        if by_pages(len(absent), listed):
            found |= self._fetcher.listed(absent, self._seen(), namespace, label_selector)
        found |= {key: self._fetched(head) for key, head in absent.items() if key not in found}
        bodies = {head.plain_key: self._in_hands(head, found[head.plain_key]) for head in heads}
        return {key: cached for key, cached in bodies.items() if cached is not None}

    async def on_thread(self, function: Callable[[], T]) -> T:
        """Call a function that reads whole objects, on a thread for requests of coroutines, and return its result."""
        from controller_runtime.client.async_calls import AsyncCalls  # a program without coroutines has no event loop

        return await AsyncCalls(self._requests.threads).read(function)

    @property
    def has_function(self) -> bool:
        """Whether the options have a function that selects objects."""
        return self._bodies.chosen is not None

    def _seen(self) -> Seen:
        return Seen(0, "") if self._heads is None else Seen(self._heads.resets, self._heads.version)

    def _count(self) -> int:
        return 0 if self._heads is None else len(self._heads)

    def _at_hand(self, head: Cached) -> Body | None:
        key, seen = head.plain_key, self._seen()
        body = self.kept.get(key)
        if body is not None:
            if fits(body, head, seen):
                return body
            self.kept.drop(key, body)  # or its place would be refused to an older one, which a restore may leave
        if self._watched is None or (cached := self._watched.stored(key)) is None:
            return None
        # The watches count the restores of the server's data each for itself: until both have seen one, neither counts.
        resets = self._watched.resets - self._resets_before
        watched = Body(cached.uid, Seen(resets, self._watched.version), cached)
        return watched if fits(watched, head, seen) else None

    def _fetched(self, head: Cached) -> Body:
        seen = self._seen()  # as of before the request
        body = self._fetcher.one(head, seen)
        self._keep(head, body)
        return body

    def _keep(self, head: Cached, body: Body) -> None:
        """Keep a fetched body where the present metadata has it: the object may have changed or gone meanwhile.

        The cache looks at its bodies after its metadata has changed, and this looks at the metadata after it has put
        the body. So one of the two sees what the other one has done.
        """
        key = head.plain_key
        self.kept.put(key, body, chosen=self._is_chosen(head))
        now = None if self._heads is None else self._heads.stored(key)
        if now is None or now.uid != body.uid:
            self.kept.drop(key, body)
        elif self.has_function:
            self.kept.place(key, chosen=self._is_chosen(now))

    def _is_shown(self, head: Cached) -> bool:
        now = None if self._heads is None else self._heads.stored(head.plain_key)
        return now is not None and (now.uid, now.resource_version) == (head.uid, head.resource_version)

    def _is_chosen(self, head: Cached) -> bool:
        if self._bodies.chosen is None:
            return False
        try:
            return self._bodies.chosen(head.meta)
        except DecodeError:
            return False

    def _in_hands(self, head: Cached, body: Body) -> Cached | None:
        held = HELD.get()
        return body.cached if held is None else held.body(self._heads, head.key, body.cached)

    def _refuse_waiting(self, head: Cached) -> None:
        if is_delivering():
            raise UsageError(
                f"the body of {self.collection.resource} {head.key} is not at hand, and a mapper, a predicate or an "
                "index must not wait for it: let it read metadata (SECRETS.only_metadata(), for example), choose the "
                "bodies that it reads by a selector of Bodies, or read the object in the reconcile"
            )

    def _warn_if_large(self) -> None:
        if (chosen := self.kept.chosen_size) <= self._warn_at:
            return
        log.warning(
            "chosen bodies take much memory",
            collection=self.collection,
            mib=round(chosen / 2**20),
            bound_mib=round(self._warn_at / 2**20),
            remedies="let the function of Bodies choose fewer; leave them to be fetched when they are read (Bodies() "
            "without a function); or drop fields that nothing reads (CacheScope(transform=without(…)))",
        )
        self._warn_at = math.inf  # once; the thread of `fetch_chosen` alone comes here

    def _warn_once(self, count: int) -> None:
        if self._has_warned or count <= FEW:  # one flag; two threads may both warn
            return
        self._has_warned = True
        log.warning(
            "a loop reads many bodies, which the server is asked for each time",
            collection=self.collection,
            bodies=count,
            remedies="loop over keys() or over metadata (only_metadata()); choose them by a selector of Bodies; or "
            "cache the kind whole, without CacheScope(bodies=…)",
        )
