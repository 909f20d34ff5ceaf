# SPDX-License-Identifier: Apache-2.0
"""From a change to the requests it causes: pure mappings, run by the informer as it delivers.

They see both sides of a change, so that what an object left is reconciled as well as
what it joined. Each request comes once per change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from controller_runtime.api.objects import Cached, OwnerReference
from controller_runtime.api.resources import Resource
from controller_runtime.cache.store import Delta
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.errors import DecodeError
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

Handler = Callable[[Delta], Iterable[Request]]
"""The requests that one change causes. It must be quick, and neither remember nor write anything."""


def enqueue_object(delta: Delta) -> Iterable[Request]:
    """The object itself."""
    return (delta.key,)


def enqueue_owner(owner: Resource[Any], *, only_controller: bool = True) -> Handler:
    """The owners of the object that are of one kind, in any version of it.

    Args:
        owner: The owners' collection.
        only_controller: Leave out owners that are not the object's controller.
    """

    def is_owner(reference: OwnerReference) -> bool:
        group, slash, _ = reference.api_version.rpartition("/")
        return (
            reference.kind == owner.kind
            and group == owner.group
            and bool(slash) == bool(owner.group)
            and (reference.controller or not only_controller)
        )

    def owners_of(cached: Cached) -> Iterable[Request]:
        namespace = cached.namespace if owner.namespaced else ""
        references = cached.meta.owner_references or []
        return [Request(reference.name, namespace) for reference in references if is_owner(reference)]

    return enqueue_mapped(owners_of)


def enqueue_mapped(requests_of: Callable[[Cached], Iterable[Request]]) -> Handler:
    """Whatever `requests_of` says of the object, before and after the change, of the sides that can be read."""

    def requests_or_none(side: Cached) -> Iterable[Request]:
        try:
            return [*requests_of(side)]
        except DecodeError as error:
            log.warning("one side of a change left out: it cannot be read", error=error)
            return ()

    def handle(delta: Delta) -> Iterable[Request]:
        sides = [side for side in (delta.old, delta.new) if side is not None]
        return dict.fromkeys(request for side in sides for request in requests_or_none(side))

    return handle
