# SPDX-License-Identifier: Apache-2.0
"""Brings the bodies of one collection: from a second watch, from those that are kept, or from the server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import attrs

from apimachinery.errors import ControllerRuntimeError, DecodeError, Expired, NoSuchKind, NotFound, UsageError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.log import get_logger
from apimachinery.objects import Cached, PlainKey, cached_from_bytes
from controller_runtime.api.collection import Collection
from controller_runtime.cache.bodies import FIRST, Bodies, Body, Seen, by_pages, fits, judged, next_page
from controller_runtime.cache.body_cache import BodyCache
from controller_runtime.cache.delivering import is_delivering
from controller_runtime.cache.delta import Delta
from controller_runtime.cache.held import HELD
from controller_runtime.cache.store import Store
from controller_runtime.cache.transforms import Transform, transformed
from controller_runtime.client.answers import check
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.missing_kinds import explained
from controller_runtime.client.request_threads import RequestThreads
from controller_runtime.client.transport import Transport
from controller_runtime.client.user_agent import user_agent
from controller_runtime.client.warnings import Warnings

log = get_logger(__name__)

T = TypeVar("T")

TIMEOUT = 30.0
"""Seconds for one request, as of a `Client`; deadlines of reconciles and leaderships shorten it in the transport."""


@attrs.frozen
class BodyRequests:
    """How bodies (whole objects) are requested: by the program's client, with its deadlines, fence and limits.

    Attributes:
        transport: Returns the transport that carries the requests.
        threads: The threads on which requests of coroutines are sent.
    """

    transport: Callable[[], Transport]
    threads: RequestThreads


class BodySource:
    """Returns the whole objects (bodies) of a collection of which a cache has the metadata, and keeps some of them.

    No lock is held during a request to the server. Two threads that need the same body may both request it.

    Args:
        host: The source of the time and the lock.
        collection: The objects.
        bodies: Selects the objects that are kept.
        requests: How bodies are requested.
        transform: Changes each body; None changes nothing.

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
    ) -> None:
        self.kept = BodyCache(host, str(collection), bodies.memory)
        self._host = host
        self.collection = collection
        self._bodies = bodies
        self._requests = requests
        self._transform = transform
        self._warnings = Warnings(host)
        self._heads: Store | None = None
        self._watched: Store | None = None
        self._has_warned = False

    def follow(self, heads: Store, watched: Store | None) -> None:
        """Set the store of the metadata, and the store that the second watch fills; None without such a watch."""
        self._heads, self._watched = heads, watched

    def changed(self, delta: Delta) -> None:
        """Drop the body of a changed object. It is a handler of the cache of metadata."""
        self.kept.changed(delta, self._seen())

    def fetch_chosen(self, delta: Delta) -> None:
        """Fetch the body of a changed object if the options' function selects it.

        It is a subscription of the cache of metadata.

        A failed request is ignored: the body is then fetched when it is read.
        """
        if delta.new is None or not self._is_chosen(delta.new) or self._at_hand(delta.new) is not None:
            return
        try:
            self._fetched(delta.new)
        except ControllerRuntimeError as error:
            log.debug("chosen body not fetched", collection=self.collection, key=delta.key, error=error)

    def is_at_hand(self, head: Cached) -> bool:
        """Return whether `read(head)` would answer without a request."""
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
        """Return the bodies for some metadata, by key, without objects that are gone.

        If many are missing, they are fetched by listing pages, and not kept: they would displace those that are read
        one by one.

        Args:
            heads: The metadata of the objects.
            namespace: The namespace of all of them; empty if unknown.
            label_selector: The selector that all of them match; empty if unknown.

        Raises:
            ControllerRuntimeError: As for `read`.
        """
        found = {head.plain_key: body for head in heads if (body := self._at_hand(head)) is not None}
        absent = {head.plain_key: head for head in heads if head.plain_key not in found}
        self.kept.count(hits=len(found), misses=len(absent))
        if absent:
            self._refuse_waiting(next(iter(absent.values())))
        if by_pages(len(absent), len(heads)):
            found |= self._listed(absent, namespace, label_selector)
        found |= {key: self._fetched(head) for key, head in absent.items() if key not in found}
        bodies = {head.plain_key: self._in_hands(head, found[head.plain_key]) for head in heads}
        return {key: cached for key, cached in bodies.items() if cached is not None}

    async def on_thread(self, function: Callable[[], T]) -> T:
        """Call a function that reads bodies on a thread for requests of coroutines, and return its result."""
        from controller_runtime.client.async_calls import AsyncCalls  # a program without coroutines has no event loop

        return await AsyncCalls(self._requests.threads).read(function)

    @property
    def has_function(self) -> bool:
        """Whether the options have a function that selects objects."""
        return self._bodies.chosen is not None

    def _seen(self) -> Seen:
        return Seen(0, "") if self._heads is None else Seen(self._heads.resets, self._heads.version)

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
        watched = Body(cached.uid, Seen(self._watched.resets, self._watched.version), cached)
        return watched if fits(watched, head, seen) else None

    def _fetched(self, head: Cached) -> Body:
        seen = self._seen()  # as of before the request
        body = judged(self._asked(head), head, seen)
        self.kept.put(head.plain_key, body, chosen=self._is_chosen(head))
        return body

    def _asked(self, head: Cached) -> Cached | None:
        resource = self.collection.resource
        path = resource.path(head.namespace, head.name)
        headers = {"user-agent": user_agent(self._host), "accept": "application/json"}
        deadline = self._host.monotonic() + TIMEOUT
        answer = self._requests.transport().request(HTTPRequest("GET", path, (), headers), deadline)
        self._warnings.log_new(answer, path)
        try:
            return transformed(cached_from_bytes(check(answer).body), self._transform)
        except NotFound as error:
            if isinstance(told := explained(error, resource), NoSuchKind):
                raise told from None
            return None

    def _listed(self, absent: dict[PlainKey, Cached], namespace: str, label_selector: str) -> dict[PlainKey, Body]:
        """Return the bodies of heads by pages of a list; those that it did not come to are left out."""
        self._warn_once(len(absent))
        seen = self._seen()
        # Any state is right that the heads are not newer than; it spares the server a list from etcd.
        source = self._pages_of(namespace, label_selector)
        found: dict[PlainKey, Body] = {}
        token, most = "", FIRST
        while len(found) < len(absent):
            try:
                page = source.list(seen.version, continue_token=token, most=most)
            except Expired:  # the list took too long; the rest is asked for one by one
                return found
            for cached in page.items:
                head = absent.get(cached.plain_key)
                if head is not None:
                    found[head.plain_key] = judged(transformed(cached, self._transform), head, seen)
            token, most = page.continue_token, next_page(len(page.items), sum(cached.size for cached in page.items))
            if not token:
                break
        return {key: found.get(key) or Body(head.uid, seen, None) for key, head in absent.items()}

    def _pages_of(self, namespace: str, label_selector: str) -> ListWatch:
        labels = ",".join(filter(None, (self.collection.label_selector, label_selector)))
        collection = attrs.evolve(
            self.collection, namespace=namespace or self.collection.namespace, label_selector=labels
        )
        return ListWatch(self._host, self._requests.transport(), collection, warnings=self._warnings)

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

    def _warn_once(self, count: int) -> None:
        if self._has_warned:  # one flag; two threads may both warn
            return
        self._has_warned = True
        log.warning(
            "a loop reads many bodies, which the server is asked for each time",
            collection=self.collection,
            bodies=count,
            remedies="loop over keys() or over metadata (only_metadata()); choose them by a selector of Bodies; or "
            "cache the kind whole, without CacheScope(bodies=…)",
        )
