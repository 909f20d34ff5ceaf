# SPDX-License-Identifier: Apache-2.0
"""The part of `Client` that waits for the state of one object."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeVar, overload

from apimachinery.errors import NotFound, WaitTimeout
from apimachinery.objects import Cached, ObjectKey, cached_from_bytes
from apimachinery.plain_functions import synchronous
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.collection import Collection
from controller_runtime.api.conditions import ObjectCondition
from controller_runtime.api.readiness import Readiness
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.client.deadlines import DeadlineTransport
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.object_states import ObjectStates
from controller_runtime.client.reads import ClientReads

T = TypeVar("T")
V = TypeVar("V")


def gone(obj: object) -> bool:
    """Return whether an object is absent; for `Client.wait`, which passes None for an absent one."""
    return obj is None


class ClientWaits(ClientReads):
    """`wait`, between the reads and the writes of `Client`, its only subclass."""

    @overload
    def wait(
        self, resource: Kind[T], key: ObjectKey, *, until: ObjectCondition | Readiness, within: float = ...
    ) -> T: ...

    @overload
    def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[V],
        *,
        until: ObjectCondition | Readiness,
        within: float = ...,
    ) -> V: ...

    @overload
    def wait(
        self, resource: Kind[T], key: ObjectKey, *, until: Callable[[T | None], bool], within: float = ...
    ) -> T | None: ...

    @overload
    def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[V],
        *,
        until: Callable[[V | None], bool],
        within: float = ...,
    ) -> V | None: ...

    def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[Any] | None = None,
        *,
        until: Callable[[Any], bool],
        within: float = 30.0,
    ) -> Any:
        """Wait until an object is as wanted, and return it as the resource's model or as `view`, as `get` does.

        The object is watched, alone; if the server does not allow that, it is read once a second. So a role needs
        `list` and `watch` of this name, or `get`. Failures that pass, such as a lost connection, are retried
        meanwhile. The limits of this client hold: each request ends `within` its own, and the wait ends with the
        deadline of `until`, of a reconcile or of a leadership, with the error that a request has then.

        Args:
            resource: Its resource.
            key: Its name and namespace.
            view: The class to read it as; None for that of the resource.
            until: Called with each state, with None while the object is absent: `ready`, `condition("Ready")`,
                `gone`, or a function, but no `async def`. It must be quick.
            within: Seconds to wait.

        Returns:
            The object in the first state for which `until` is true; None if absent.

        Raises:
            WaitTimeout: `until` was not true in time; the message shows the last state.
            NotFound: The server does not serve the resource.
            Forbidden: The object may be neither watched nor read.
            DecodeError: The object cannot be read.
            ValueError: `within` is not positive.
        """
        if within <= 0:
            raise ValueError(f"within ({within}) must be positive")
        known, fits = resource_of(resource), synchronous("the `until` of a wait", until)
        decode, states = decoder_for(view, known), self._states(known, key, self.host.monotonic() + within)
        seen, last = False, None
        with closing(states.__iter__()) as cached_states:
            for cached in cached_states:
                obj = None if cached is None else decode(cached.raw)
                # A view need not have the status, so a condition is looked up in the object itself.
                if fits(cached if isinstance(until, ObjectCondition | Readiness) else obj):
                    return obj
                seen, last = True, cached
        what = f"{known} {key}: gave up waiting for {_wanted(until)} after {within:g} s"
        state = _state_of(until, last) if seen else "its state is unknown"
        error = f"; the last request failed: {states.error}" if states.error else ""
        raise WaitTimeout(f"{what}: {state}{error}") from states.error

    def _states(self, resource: Resource[Any], key: ObjectKey, end: float) -> ObjectStates:
        """Return the states of an object until `end`, read by requests of which none outlasts it."""
        bounded = copy.copy(self)
        bounded.transport = DeadlineTransport(self.transport, lambda request: end)
        path = resource.path(key.namespace, key.name)
        objects = ListWatch(
            self.host,
            bounded.transport,
            Collection(resource, key.namespace, field_selector=f"metadata.name={key.name}"),
            request_timeout=self._timeout,
            warnings=self._warnings,
        )

        def read() -> Cached | None:
            try:
                return cached_from_bytes(bounded._call("GET", path).body)
            except NotFound:
                return None

        return ObjectStates(self.host, bounded.transport, objects, read, end)


def _wanted(until: Callable[[Any], bool]) -> str:
    if isinstance(until, ObjectCondition | Readiness):
        return str(until)
    if until is gone:
        return "its end"
    name = getattr(until, "__name__", "<lambda>")
    return "the wanted state" if name == "<lambda>" else f"{name}()"


def _state_of(until: Callable[[Any], bool], last: Cached | None) -> str:
    """Return the last state of an object in words, as far as it concerns `until`."""
    if isinstance(until, ObjectCondition | Readiness):
        return until.state_of(last)
    if last is None:
        return "it does not exist"
    found = last.meta
    if found.deletion_timestamp is not None and found.finalizers:
        return f"it is being deleted, and has the finalizers {', '.join(found.finalizers)}"
    if found.deletion_timestamp is not None:
        return "it is being deleted"
    return f"it exists, at resourceVersion {last.resource_version}"
