# SPDX-License-Identifier: Apache-2.0
"""The informers of one program: one per collection, shared by all who ask for it until the last releases it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import attrs

from controller_runtime.api.resources import Resource
from controller_runtime.api.selectors import FieldSelector, LabelSelector
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.reachable import ServerReachable
from controller_runtime.client.transport import Transport
from controller_runtime.core.errors import CacheSyncTimeout, UsageError
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.stop import Stop, spawn


class _Key(NamedTuple):
    resource: Resource[Any]
    namespace: str
    label_selector: str
    field_selector: str
    linger: float


@attrs.define(eq=False)
class _Held:
    """An informer and who has it.

    Attributes:
        informer: The informer.
        stop: Ends it, and nothing else.
        users: How often it was asked for and not released.
        thread: Where it runs, once it does.
        has_run: Whether that is over.
    """

    informer: Informer
    stop: Stop
    users: int = 1
    thread: Thread | None = None
    has_run: bool = False

    def has_ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.has_run and not self.informer.subscriptions

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for its threads; those that still run at `deadline`."""
        own = [] if self.thread is None or self.thread.join_until(deadline) else [self.thread]
        return own + self.informer.join_until(deadline)


class Informers:
    """Makes, shares, runs and ends informers. Threads: any, for every method.

    Args:
        host: What they run on.
        transport: Carries their requests; it stays its owner's to close.
        streaming: Try streamed lists before lists by pages.
        patience: How long each waits for the server.
        transforms: What to make of the objects of a collection before they are kept. One
            for each resource, because all who read it share one copy.
        contact: Tells when somebody else has reached the server.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        *,
        streaming: bool = True,
        patience: Patience | None = None,
        transforms: Mapping[Resource[Any], Transform] = MappingProxyType({}),
        contact: ServerReachable | None = None,
    ) -> None:
        self._host = host
        self._transport = transport
        self._streaming = streaming
        self._patience = patience
        self._contact = contact
        # Guards everything below.
        self._lock = host.lock("informers")
        self._transforms = dict(transforms)
        self._held: dict[_Key, _Held] = {}
        self._released: list[_Held] = []  # and perhaps not ended yet
        self._stop: Stop | None = None  # of the program, once started

    def transform(self, resource: Resource[Any], transform: Transform) -> None:
        """Make this of the objects of a collection before they are kept, in place of what was said before.

        Raises:
            UsageError: The collection has been asked for already.
        """
        with self._lock:
            if any(key.resource == resource for key in self._held):
                raise UsageError(f"{resource} are cached already, as they are: transform them before")
            self._transforms[resource] = transform

    def __iter__(self) -> Iterator[Informer]:
        with self._lock:
            return iter([held.informer for held in self._held.values()])

    def of(
        self,
        resource: Resource[Any],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        linger: float = 0.0,
    ) -> Informer:
        """The informer of a collection: the same one for the same question. Runs at once if the others do.

        Who no longer needs it may `release` it, once for each time it was asked for.

        Args:
            resource: The collection.
            namespace: Only this one; empty is all of them.
            label_selector: Only objects that it matches, as the server sees it.
            field_selector: The same for fields.
            linger: Seconds by which changes may come later, so that of a collection where much
                changes many come together: to be woken for each costs more than the change.

        Raises:
            ValueError: A selector is malformed, or a namespace was given for a cluster-scoped kind.
        """
        labels, fields = LabelSelector.parse(label_selector), FieldSelector.parse(field_selector)
        key = _Key(resource, namespace, str(labels), str(fields), linger)
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                held.users += 1
                return held.informer
            held = self._held[key] = self._make(key)
            program = self._stop
        if program is not None:
            self._run(held, program)
        return held.informer

    def release(self, informer: Informer) -> None:
        """Give back what `of` gave. The last one to do so ends the informer; who asks then gets a new one.

        Ending is not waited for: a handler that runs ends by itself, and at most the changes
        that have arrived are told. Listers of it go on reading its last state. May be called
        from its own handlers and subscriptions.

        Raises:
            UsageError: It was released as often as it was asked for.
        """
        with self._lock:
            found = [(key, held) for key, held in self._held.items() if held.informer is informer]
            if not found:
                raise UsageError(f"the informer of {informer} was released more often than it was asked for")
            [(key, held)] = found
            held.users -= 1
            if held.users:
                return
            del self._held[key]
            if self._stop is not None:
                self._released.append(held)
        held.stop.set()
        self._forget_ended()

    def start(self, stop: Stop) -> None:
        """Run every informer, and those that come later, until `stop` is set.

        Raises:
            UsageError: They were started before.
        """
        with self._lock:
            if self._stop is not None:
                raise UsageError("informers were started more than once")
            self._stop = stop
            waiting = [*self._held.values()]
        for held in waiting:
            self._run(held, stop)

    def wait_for_sync(self, stop: Stop, timeout: float) -> bool:
        """Wait until every informer there is now has its initial list; False if `stop` was set first.

        One that is released meanwhile is not waited for.

        Args:
            stop: Ends the wait.
            timeout: Seconds for all of them together.

        Raises:
            CacheSyncTimeout: Some are not in sync in time; each is named with its last error.
        """
        deadline = self._host.monotonic() + timeout
        late = [informer for informer in self if not informer.wait_for_sync(stop, deadline)]
        if stop.is_set():
            return False
        wanted = {id(informer) for informer in self}
        names = [f"{i} ({i.last_error or 'no answer yet'})" for i in late if id(i) in wanted]
        if names:
            raise CacheSyncTimeout(f"caches not in sync after {timeout:g} s: {'; '.join(names)}")
        return True

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for all threads of all informers; those that still run at `deadline` (absolute monotonic seconds)."""
        with self._lock:
            every = [*self._held.values(), *self._released]
        return [thread for held in every for thread in held.join_until(deadline)]

    def _make(self, key: _Key) -> _Held:
        source = ListWatch(
            self._host,
            self._transport,
            key.resource,
            namespace=key.namespace,
            label_selector=key.label_selector,
            field_selector=key.field_selector,
            linger=key.linger,
        )
        transform = self._transforms.get(key.resource)
        informer = Informer(
            self._host,
            source,
            streaming=self._streaming,
            patience=self._patience,
            transform=transform,
            contact=self._contact,
        )
        return _Held(informer, Stop(self._host, f"stop of {informer}"))

    def _run(self, held: _Held, program: Stop) -> None:
        forget = program.on_set(held.stop.set)
        held.stop.on_set(forget)

        def run() -> None:
            try:
                held.informer.run(held.stop, program)
            finally:
                held.has_run = True

        held.thread = spawn(self._host, program, f"reflector/{held.informer.resource.plural}", run)

    def _forget_ended(self) -> None:
        with self._lock:
            released = [*self._released]
        ended = [id(held) for held in released if held.has_ended()]
        with self._lock:
            self._released = [held for held in self._released if id(held) not in ended]
