# SPDX-License-Identifier: Apache-2.0
"""Deletes objects that their owners have stopped renewing.

An object is valid for some time after its last renewal. It is deleted only if both the cache and the server say that
this time is over, so a renewal that the cache has not seen yet saves it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

import attrs

from apimachinery.errors import Conflict, NotFound
from apimachinery.host import Clock
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey, ObjectMeta
from controller_runtime.api.resources import Resource
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.controller.reconciler import Reconciler, Request, Result

log = get_logger(__name__)


class HasObjectMeta(Protocol):
    """A view of an object that includes its metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""


T = TypeVar("T", bound=HasObjectMeta)


@attrs.frozen
class ExpiredCollector(Reconciler, Generic[T]):
    """Deletes objects that have expired; an object that has not is checked again when it would expire.

    Attributes:
        clock: The source of the wall time, which is compared with times in the objects.
        client: Reads an expired object from the server, and deletes it.
        cache: Reads the cached objects.
        resource: The resource of the objects.
        view: The class into which objects from the server are decoded.
        seconds_left: Returns the seconds for which an object is still valid at a given time; negative if it has
            expired.
        longest_look: The most seconds between two checks of an unchanged object. Without it, a time far in the future,
            or a wall clock that jumps, would delay a deletion without limit.
    """

    clock: Clock
    client: Client
    cache: Lister[T]
    resource: Resource[Any]
    view: type[T]
    seconds_left: Callable[[T, datetime], float]
    longest_look: float

    def reconcile(self, request: Request) -> Result:
        """Delete an object if it has expired according to the cache, and then according to the server."""
        cached = self.cache.get(request)
        if cached is None:
            return Result()
        left = self._left(cached)
        if left < 0:
            try:
                live = self.client.get(self.resource, request, self.view)
                left = self._left(live)
                if left < 0:
                    self._delete(request, live)
                    return Result()
            except (NotFound, Conflict):  # deleted or renewed meanwhile; the watch will show it
                return Result()
        # An object is still valid at its very last instant, so the next look comes just after it.
        return Result(requeue_after=min(left + 0.001, self.longest_look))

    def _left(self, obj: T) -> float:
        return self.seconds_left(obj, self.clock.now())

    def _delete(self, key: ObjectKey, obj: T) -> None:
        metadata = obj.metadata
        self.client.delete(self.resource, key, uid=metadata.uid, resource_version=metadata.resource_version)
        log.info("expired object deleted", kind=self.resource.kind, object=key)
