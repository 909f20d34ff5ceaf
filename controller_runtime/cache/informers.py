# SPDX-License-Identifier: Apache-2.0
"""The informers of one program: one for each collection, shared by all callers until the last one releases it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import attrs

from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.transforms import MANAGED_FIELDS, Transform, removes
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.transport import Transport
from controller_runtime.core.errors import CacheSyncTimeout, UsageError
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.stop import Stop, spawn


class _Key(NamedTuple):
    """Identifies an informer: callers that ask for the same collection and linger share one."""

    collection: Collection
    linger: float


@attrs.define(eq=False)
class _Shared:
    """An informer, and how many callers use it.

    Attributes:
        informer: The informer.
        stop: Ends this informer and nothing else.
        any_version: Whether it begins with any state that the server has at hand.
        users: The calls of `Informers.of` that returned the informer, less those of `Informers.release`.
        thread: The thread of the informer's `run`; None before it is started.
        has_run: Whether the informer's `run` has ended.
    """

    informer: Informer
    stop: Stop
    any_version: bool
    users: int = 1
    thread: Thread | None = None
    has_run: bool = False

    def has_ended(self) -> bool:
        """Return whether the informer has run, and neither the informer nor a subscription of it still runs."""
        return self.has_run and not self.informer.subscriptions

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the threads of the informer and its subscriptions; return those that still run at `deadline`."""
        own = [] if self.thread is None or self.thread.join_until(deadline) else [self.thread]
        return own + self.informer.join_until(deadline)


class Informers:
    """Makes, shares, runs and ends informers.

    Args:
        host: For the informers' threads and locks.
        transport: Carries the informers' requests; it is not closed here.
        options: How each cache fills.
        transforms: Transforms for single resources, each in place of that of the options. A transform belongs to the
            resource and not to a caller, because all callers share one copy of a collection.
        namespace: The namespace of each collection that names none; empty for all namespaces. Collections of
            cluster-scoped resources have none.

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
        self._namespace = namespace
        self._transport = transport
        self._options = options or CacheOptions()
        # Guards everything below.
        self._lock = host.lock("informers")
        self._transforms = {resource_of(kind): transform for kind, transform in transforms.items()}
        self._shared: dict[_Key, _Shared] = {}
        self._views: dict[Resource[Any], set[type[Any]]] = {}
        self._released: list[_Shared] = []  # and possibly still running
        self._stop: Stop | None = None  # that of the program, once started

    def transform(self, resource: Kind[Any], transform: Transform) -> None:
        """Set the transform of a resource, in place of the one that it had.

        Raises:
            UsageError: An informer of the resource exists already, which would not use the transform.
        """
        known = resource_of(resource)
        with self._lock:
            if any(key.collection.resource == known for key in self._shared):
                raise UsageError(f"{known} are cached already: set their transform before the first use")
            self._transforms[known] = transform

    def note_view(self, resource: Resource[Any], view: type[Any]) -> None:
        """Note the class that a caller reads the objects of a resource as; see `views`."""
        with self._lock:
            self._views.setdefault(resource, set()).add(view)

    def views(self) -> Mapping[Resource[Any], frozenset[type[Any]]]:
        """Return the classes that callers read the objects of each resource as; `dict` stands for any use."""
        with self._lock:
            return {resource: frozenset(views) for resource, views in self._views.items()}

    def __iter__(self) -> Iterator[Informer]:
        with self._lock:
            return iter([shared.informer for shared in self._shared.values()])

    @property
    def collections(self) -> list[Collection]:
        """The collections that have an informer, each once."""
        with self._lock:
            return [*dict.fromkeys(key.collection for key in self._shared)]

    def of(self, collection: Collection, *, linger: float = 0.0, any_version: bool = False) -> Informer:
        """Return the informer of a collection and linger, the same one to each caller.

        A new informer runs at once if `start` was called, else from that call on. A caller that no longer needs
        the informer may `release` it, once for each call of `of`.

        Args:
            collection: The objects to list and watch.
            linger: Seconds by which the delivery of changes may be delayed, so that the changes of a busy collection
                are delivered together: a wake-up of the thread costs more than a change.
            any_version: Begin with any state that the server has at hand, as by `CacheOptions.any_version`. Callers
                that do not ask for it share the informer.

        Raises:
            ValueError: A selector is malformed, or a namespace was given for a cluster-scoped resource.
            UsageError: `any_version` is asked for, and the informer exists already and begins with the most recent.
        """
        if not collection.namespace and collection.resource.namespaced:
            collection = attrs.evolve(collection, namespace=self._namespace)
        key = _Key(collection.normalized(), linger)
        with self._lock:
            shared = self._shared.get(key)
            if shared is not None:
                if any_version and not shared.any_version:
                    raise UsageError(f"{shared.informer} is cached already: ask for any version before the first use")
                shared.users += 1
                return shared.informer
            shared = self._shared[key] = self._make(key, any_version=any_version)
            program = self._stop
        if program is not None:
            self._run(shared, program)
        return shared.informer

    def release(self, informer: Informer) -> None:
        """Give back an informer. The last release ends it; the next `of` makes a new one.

        This does not wait for the end. A handler that is running is not interrupted, and after this call at
        most the changes that have arrived already are reported. Listers still read the last state of the
        store. May be called from the informer's own handlers and subscriptions.

        Raises:
            UsageError: The informer was released as often as it was asked for already.
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
            if self._stop is not None:
                self._released.append(shared)
        shared.stop.set()
        self._forget_ended()

    def start(self, stop: Stop) -> None:
        """Run every informer until `stop` is set, including those that are made later.

        Raises:
            UsageError: This was called before.
        """
        with self._lock:
            if self._stop is not None:
                raise UsageError("informers were started more than once")
            self._stop = stop
            waiting = [*self._shared.values()]
        for shared in waiting:
            self._run(shared, stop)

    def wait_for_sync(self, stop: Stop, timeout: float) -> bool:
        """Wait until every informer that exists now has its initial list; return False if `stop` was set first.

        An informer that is released during the wait is not waited for.

        Args:
            stop: Ends the wait.
            timeout: Seconds for all informers together.

        Raises:
            CacheSyncTimeout: Some informers are not in sync in time; the message names each with its last error.
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
            every = [*self._shared.values(), *self._released]
        return [thread for shared in every for thread in shared.join_until(deadline)]

    def _make(self, key: _Key, *, any_version: bool) -> _Shared:
        transform = self._transforms.get(key.collection.resource, self._options.transform)
        drops = self._options.drop_managed_fields
        drops = removes(transform, MANAGED_FIELDS) if drops is None else drops
        source = ListWatch(self._host, self._transport, key.collection, linger=key.linger, drop_managed_fields=drops)
        any_version = any_version or self._options.any_version
        options = attrs.evolve(self._options, transform=transform, any_version=any_version)
        informer = Informer(self._host, source, options)
        return _Shared(informer, Stop(self._host, f"stop of {informer}"), any_version)

    def _run(self, shared: _Shared, program: Stop) -> None:
        forget = program.on_set(shared.stop.set)
        # A released informer leaves no callback at the program's stop, which would keep its store in memory.
        shared.stop.on_set(forget)

        def run() -> None:
            try:
                shared.informer.run(shared.stop, program)
            finally:
                shared.has_run = True

        shared.thread = spawn(self._host, program, f"reflector/{shared.informer.resource.plural}", run)

    def _forget_ended(self) -> None:
        with self._lock:
            released = [*self._released]
        # `has_ended` takes the informer's lock, so it is asked outside ours.
        ended = [id(shared) for shared in released if shared.has_ended()]
        with self._lock:
            self._released = [shared for shared in self._released if id(shared) not in ended]
