# SPDX-License-Identifier: Apache-2.0
"""Handlers: functions that return the requests that a change causes.

A handler sees the object before and after the change. So an object that moves from one owner to another causes a
request for both: the former owner has to be reconciled as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from apimachinery.errors import DecodeError
from apimachinery.log import get_logger
from apimachinery.objects import Cached, OwnerReference
from apimachinery.plain_functions import synchronous
from controller_runtime.api.resources import Kind, resource_of
from controller_runtime.cache.store import Delta
from controller_runtime.controller.reconciler import Request

log = get_logger(__name__)

Handler = Callable[[Delta], Iterable[Request]]
"""Maps a change to the requests that it causes; for `Controller.watch`.

It must be pure and quick: it runs on the informer's thread, while the changes of all other readers wait. It must not
keep state or write anything. If it raises, the change is kept and tried again, perhaps merged with later changes of the
same object, and perhaps on another thread.
"""

Callback = Callable[[Delta], Iterable[Request]]
"""Acts on a change and returns the requests that it causes; for `Controller.follow`.

It may keep state, wait and write: it runs on its own thread, and gets every change once, in order.
"""


def enqueue_object(delta: Delta) -> Iterable[Request]:
    """Return one request, for the object that changed."""
    return (delta.key,)


def enqueue_owner(owner: Kind[Any], *, only_controller: bool = True) -> Handler:
    """Return a handler that requests the owners of a changed object that have the kind `owner`, in any API version.

    Args:
        owner: The owners' collection, or their declared class.
        only_controller: Request only the owner that is the object's controller.
    """
    kind = resource_of(owner)

    def is_owner(reference: OwnerReference) -> bool:
        group, slash, _ = reference.api_version.rpartition("/")
        return (
            reference.kind == kind.kind
            and group == kind.group
            and bool(slash) == bool(kind.group)
            and (reference.controller or not only_controller)
        )

    def owners_of(cached: Cached) -> Iterable[Request]:
        namespace = cached.namespace if kind.namespaced else ""
        references = cached.meta.owner_references or []
        return [Request(reference.name, namespace) for reference in references if is_owner(reference)]

    return enqueue_mapped(owners_of)


def enqueue_mapped(requests_of: Callable[[Cached], Iterable[Request]]) -> Handler:
    """Return a handler that makes the requests which `requests_of` returns for the object before and after a change.

    Each request is made once per change. If the new state cannot be decoded, the handler makes the requests of the old
    state, then raises `DecodeError`, so the change is tried again. An old state that cannot be decoded is logged and
    left out, because no later change would repair it.

    Args:
        requests_of: Must be pure and quick, as a `Handler` is.
    """
    mapped = synchronous("enqueue_mapped", requests_of)

    def handle(delta: Delta) -> Iterable[Request]:
        made: dict[Request, None] = {}
        if delta.old is not None:
            try:
                made = dict.fromkeys(mapped(delta.old))
            except DecodeError as error:
                log.warning("state before a change left out: it cannot be read", error=error)
        yield from made
        if delta.new is not None:
            yield from (request for request in dict.fromkeys(mapped(delta.new)) if request not in made)

    return handle
