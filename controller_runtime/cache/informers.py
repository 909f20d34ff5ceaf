# SPDX-License-Identifier: Apache-2.0
"""The informers of one program: one for each collection, shared by all callers until the last one releases it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from apimachinery.errors import CacheSyncTimeout, UsageError
from apimachinery.host import Host, Thread
from apimachinery.stop import Stop, spawn
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.body_requests import BodyRequests
from controller_runtime.cache.first_lists import FirstLists
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.large import readers_of
from controller_runtime.cache.making import Making
from controller_runtime.cache.options import CacheOptions, MakeStore
from controller_runtime.cache.scope import (
    CacheScope,
    Scopes,
    bodies_of,
    options_of,
    without_covered,
)
from controller_runtime.cache.share import Share
from controller_runtime.cache.shared_informer import Key, Shared
from controller_runtime.cache.transforms import Transform, plain_transform
from controller_runtime.client.transport import Transport


class Informers:
    """Makes, shares, runs and ends informers.

    Args:
        host: The source of time, threads and locks.
        transport: Carries the requests; it is not closed here.
        options: The options of each cache.
        transforms: Transforms by resource, which replace the transform of the options. A transform belongs to a
            resource, not to a caller, because all callers share one copy of a collection.
        namespace: The namespace of collections that name none; empty for all namespaces. It does not apply to
            cluster-scoped resources. Also an attribute.

    Threads: any, for every method.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        options: CacheOptions | None = None,
        *,
        transforms: Mapping[Kind[Any], Transform] = MappingProxyType({}),
        namespace: str = "",
    ) -> None:
        self._host = host
        self.namespace = namespace
        self._options = options or CacheOptions()
        # Guards everything below.
        self._lock = host.lock("informers")
        self._transforms = {resource_of(kind): plain_transform(kind, each) for kind, each in transforms.items()}
        self._shares: dict[Resource[Any], Share] = {}
        self._whole: set[Collection] = set()  # of divided kinds
        self._scope = CacheScope()
        self._scopes: dict[Resource[Any], CacheScope] = {}
        self._making = Making(host, transport)
        self._shared: dict[Key, Shared] = {}
        self._views: dict[Resource[Any], set[type[Any]]] = {}
        self._released: list[Shared] = []  # and possibly still running
        self._stop: Stop | None = None  # that of the program, once started
        self._starter: Thread | None = None  # starts informers one after another; None where all start at once

    def fetch_bodies(self, requests: BodyRequests) -> None:
        """Set how whole objects are requested for caches that have only metadata.

        A manager sets the requests of its client.
        """
        with self._lock:
            self._making.body_requests = requests

    def make_stores(self, make_store: MakeStore) -> None:
        """Make the stores of all caches by `make_store` from now on; a plan has stores that also show planned changes.

        Raises:
            UsageError: An informer, with its store, exists already.
        """
        with self._lock:
            if self._shared:
                raise UsageError("there are caches already: say how their stores are made before the first one")
            self._options = attrs.evolve(self._options, make_store=make_store)

    def transform(self, resource: Kind[Any], transform: Transform) -> None:
        """Set the transform of a resource; it replaces an earlier one.

        Raises:
            UsageError: An informer of the resource exists already, which would not use the transform.
        """
        known = resource_of(resource)
        with self._lock:
            if any(key.collection.resource == known for key in self._shared):
                raise UsageError(f"{known} are cached already: set their transform before the first use")
            self._transforms[known] = plain_transform(known, transform)

    def divide(self, resource: Kind[Any], share: Share) -> None:
        """Keep only a share of the objects of a resource in its caches.

        Raises:
            UsageError: The resource is cached already, or has a share already.
        """
        known = resource_of(resource)
        with self._lock:
            collections = (key.collection for key in self._shared if key.collection not in self._whole)
            if known in self._shares or any(collection.resource == known for collection in collections):
                raise UsageError(f"{known} are cached already: divide their caches once, before the first use")
            self._shares[known] = share

    def scope(self, all_kinds: CacheScope, kinds: Mapping[Kind[Any], CacheScope] = MappingProxyType({})) -> None:
        """Set the scopes of caches, for all kinds and for single kinds; see `CacheScope`.

        Raises:
            UsageError: A cache that this would change exists already, or `all_kinds` sets `bodies`.
        """
        if all_kinds.bodies is not None:
            raise UsageError("bodies are those of a kind: scope_caches(kinds={SECRETS: CacheScope(bodies=…)})")
        scopes = {resource_of(kind): scope for kind, scope in kinds.items()}
        with self._lock:
            cached = {key.collection.resource for key in self._shared}
            early = next((resource for resource in cached if resource in scopes or resource in self._views), None)
            if early is not None:
                raise UsageError(f"{early} are cached already: set the scopes of caches before the first use")
            self._scope, self._scopes = all_kinds, scopes

    def note_view(self, resource: Resource[Any], view: type[Any]) -> None:
        """Record that a caller decodes the objects of a resource into `view`; see `views`."""
        with self._lock:
            self._views.setdefault(resource, set()).add(view)

    def views(self) -> Mapping[Resource[Any], frozenset[type[Any]]]:
        """Return the classes into which callers decode the objects, by resource; `dict` stands for any use."""
        with self._lock:
            return {resource: frozenset(views) for resource, views in self._views.items()}

    def __iter__(self) -> Iterator[Informer]:
        with self._lock:
            return iter([shared.informer for shared in self._shared.values()])

    @property
    def collections(self) -> list[Collection]:
        """The collections that have an informer, without duplicates."""
        with self._lock:
            return [*dict.fromkeys(key.collection for key in self._shared)]

    def of(
        self, collection: Collection, *, linger: float = 0.0, any_version: bool = False, whole: bool = False
    ) -> Informer:
        """Return the informer of a collection and linger; all callers get the same one.

        Fields of the collection that are empty are filled from the scopes of its kind and of all kinds.

        A new informer runs at once if `start` was called, else from that call on. A caller that no longer needs the
        informer may `release` it, once for each call of `of`.

        Args:
            collection: The objects to list and watch.
            linger: Seconds by which the delivery of changes may be delayed, so that the changes of a busy collection
                are delivered together: a wake-up of the thread costs more than a change.
            any_version: Begin with any state that the server has in memory, as `CacheOptions.any_version`. Callers
                without this option share the informer.
            whole: Keep whole objects, even if the scope of the kind keeps only some bodies.

        Raises:
            ValueError: A selector is malformed, or a namespace was given for a cluster-scoped resource.
            UsageError: `any_version` is True, but the informer exists already without this option.
            UsageError: The scopes name several namespaces; see `each`.
            UsageError: `whole` is asked for, and the informer exists already and keeps a part.
        """
        first, *others = self._scoped(collection)
        if others:
            names = ", ".join(each.namespace or "all others" for each in (first, *others))
            raise UsageError(f"{collection.resource} are cached in several namespaces ({names}): name one of them")
        return self._of(Key(first.normalized(), linger), any_version, whole=whole)

    def each(self, *collections: Collection, any_version: bool = False) -> list[Informer]:
        """Return the informers that together hold the objects of some collections; see `of`.

        If the scopes of a kind name several namespaces, there is one informer for each. A collection that is part of
        another one has no separate informer.

        Raises:
            ValueError: A selector is malformed, or a namespace was given; see `of`.
            UsageError: An informer exists already without `any_version`; see `of`.
        """
        wanted = without_covered(scoped for collection in collections for scoped in self._scoped(collection))
        return [self._of(Key(collection, 0.0), any_version) for collection in wanted]

    def _scoped(self, collection: Collection) -> list[Collection]:
        with self._lock:
            kind = self._scopes.get(collection.resource) or CacheScope()
            scopes = Scopes(self._scope, kind, self.namespace)
        return scopes.of(collection)

    def _of(self, key: Key, any_version: bool, *, whole: bool = False) -> Informer:
        made: list[Shared] = []
        with self._lock:
            if whole:
                self._keep_whole(key)
            informer = self._taken(key, any_version, made)
            program = self._stop
        if program is not None:
            for shared in made:
                shared.start(self._host, program)
        return informer

    def _keep_whole(self, key: Key) -> None:
        """Note that all of a collection is kept, with the lock held."""
        shared = self._shared.get(key)
        if shared is not None and (shared.informer.bodies or shared.informer.portion) is not None:
            raise UsageError(f"{shared.informer} is cached in part already: ask for all of it before the first use")
        self._whole.add(key.collection)

    def _taken(self, key: Key, any_version: bool, made: list[Shared]) -> Informer:
        """Return the informer for one more user, with the lock held; those that are new are added to `made`."""
        shared = self._shared.get(key)
        if shared is not None:
            if any_version and not shared.any_version:
                raise UsageError(f"{shared.informer} is cached already: ask for any version before the first use")
            shared.users += 1
            return shared.informer
        options = self._options_of(key, any_version)
        bodies = None if key.collection in self._whole else bodies_of(key.collection, options)
        second = None if bodies is None else bodies.watched(key.collection)
        watched = None if second is None else self._watching(Key(second, 0.0), made)
        return self._made(key, options, bodies, watched, made)

    def _watching(self, key: Key, made: list[Shared]) -> Informer:
        shared = self._shared.get(key)
        if shared is None:
            return self._made(key, self._options_of(key, any_version=False), None, None, made)
        shared.users += 1
        return shared.informer

    def _made(
        self, key: Key, options: CacheOptions, bodies: Bodies | None, watched: Informer | None, made: list[Shared]
    ) -> Informer:
        readers = readers_of(self.views, key.collection.resource)
        shared = self._shared[key] = self._making.make(key, options, readers, bodies, watched)
        self._set_peers(shared.informer.kept_resource)
        made.append(shared)
        return shared.informer

    def _options_of(self, key: Key, any_version: bool) -> CacheOptions:
        resource = key.collection.resource
        scopes = (self._scopes.get(resource) or CacheScope(), self._scope)
        options = options_of(scopes, self._options, self._transforms.get(resource))
        is_whole = key.collection in self._whole or options.make_store is not None
        share = None if is_whole else self._shares.get(resource)
        portion = None if share is None else share.portion()
        return attrs.evolve(options, any_version=any_version or options.any_version, portion=portion)

    def release(self, informer: Informer) -> None:
        """Release an informer that `of` returned. The last release ends the informer; the next `of` makes a new one.

        This does not wait for the end. A running handler is not interrupted, and changes that have arrived already may
        still be reported. Listers still read the last state of the store. Handlers and subscriptions of the informer
        may call this.

        Raises:
            UsageError: The informer was already released as often as `of` returned it.
        """
        with self._lock:
            found = [(key, shared) for key, shared in self._shared.items() if shared.informer is informer]
            if not found:
                raise UsageError(f"the informer of {informer} was released more often than it was asked for")
            [(key, shared)] = found
            shared.users -= 1
            if shared.users:
                return
            del self._shared[key]
            self._set_peers(informer.kept_resource)
            if self._stop is not None:
                self._released.append(shared)
        shared.stop.set()
        informer.leave_share()
        if shared.watched is not None:
            self.release(shared.watched)
        self._forget_ended()

    def start(self, stop: Stop) -> None:
        """Run every informer until `stop` is set, including those that are made later.

        Raises:
            UsageError: `start` was called before.
        """
        with self._lock:
            if self._stop is not None:
                raise UsageError("informers were started more than once")
            self._stop = stop
            waiting, one_by_one = [*self._shared.values()], self._options.one_by_one
        lists = FirstLists(self._host, one_by_one)
        if not lists.takes_turns(waiting):
            for shared in waiting:
                shared.start(self._host, stop)
            return
        starter = spawn(self._host, stop, "first lists", lambda: lists.start_in_turn(waiting, stop))
        with self._lock:
            self._starter = starter

    def wait_for_sync(self, stop: Stop, timeout: float) -> bool:
        """Wait until every current informer has its initial list; return True, or False if `stop` was set first.

        An informer that is released during the wait is not waited for.

        Args:
            stop: Ends the wait.
            timeout: Seconds for all informers together.

        Raises:
            CacheSyncTimeout: Some informers did not have their list in time; the message names each with its last
                error.
        """
        deadline = self._host.monotonic() + timeout
        late = [informer for informer in self if not informer.wait_for_sync(stop, deadline)]
        if stop.is_set():
            return False
        in_use = {id(informer) for informer in self}
        names = [f"{i} ({i.last_error or 'no answer yet'})" for i in late if id(i) in in_use]
        if names:
            raise CacheSyncTimeout(f"caches not in sync after {timeout:g} s: {'; '.join(names)}")
        return True

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for all threads of all informers; return those that still run at `deadline`, in monotonic seconds."""
        with self._lock:
            every, starter = [*self._shared.values(), *self._released], self._starter
        late = [] if starter is None or starter.join_until(deadline) else [starter]
        return late + [thread for shared in every for thread in shared.join_until(deadline)]

    def _set_peers(self, resource: Resource[Any]) -> None:
        self._making.set_peers(resource, [shared.informer for shared in self._shared.values()])

    def _forget_ended(self) -> None:
        with self._lock:
            released = [*self._released]
        # `has_ended` takes the informer's lock, so it is asked outside ours.
        ended = [id(shared) for shared in released if shared.has_ended()]
        with self._lock:
            self._released = [shared for shared in self._released if id(shared) not in ended]
