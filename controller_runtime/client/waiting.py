# SPDX-License-Identifier: Apache-2.0
"""Waits of a client for the state of one object."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from apimachinery.errors import NotFound, WaitTimeout
from apimachinery.objects import Cached, ObjectKey, cached_from_bytes
from apimachinery.plain_functions import synchronous
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.collection import Collection
from controller_runtime.api.conditions import ObjectCondition
from controller_runtime.api.readiness import Readiness
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.client.calls import ClientCalls
from controller_runtime.client.object_states import ObjectStates


def gone(obj: object) -> bool:
    """Return whether `obj` is None. As the `until` of `Client.wait` it waits until the object is absent."""
    return obj is None


def wait_for(
    calls: ClientCalls,
    resource: Kind[Any],
    key: ObjectKey,
    view: type[Any] | None,
    until: Callable[[Any], bool],
    within: float,
) -> Any:
    """Wait until `until` is true for an object, and return the object; see `Client.wait`."""
    if within <= 0:
        raise ValueError(f"within ({within}) must be positive")
    known, fits = resource_of(resource), synchronous("the `until` of a wait", until)
    decode, states = decoder_for(view, known), _states(calls, known, key, calls.host.monotonic() + within)
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


def _states(calls: ClientCalls, resource: Resource[Any], key: ObjectKey, end: float) -> ObjectStates:
    """Return the states of an object until `end`, read by requests of which none outlasts it."""
    bounded = calls.bounded(lambda request: end)
    path = resource.path(key.namespace, key.name)
    objects = bounded.objects(Collection(resource, key.namespace, field_selector=f"metadata.name={key.name}"))

    def read() -> Cached | None:
        try:
            return cached_from_bytes(bounded.call("GET", path).body)
        except NotFound:
            return None

    return ObjectStates(calls.host, bounded.transport, objects, read, end)


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
