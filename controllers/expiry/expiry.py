# SPDX-License-Identifier: Apache-2.0
"""Deletes objects whose keepers ended without a word.

An object counts for so long after it was last renewed. One that has expired is deleted when
the cache says so, and the server says so too: a renewal that the cache has not seen saves it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

import attrs

from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.errors import Conflict, NotFound
from controller_runtime.core.host import Clock
from controller_runtime.core.log import get_logger

log = get_logger(__name__)


class Metadata(Protocol):
    """By which one may say of an object: this one, as I saw it."""

    @property
    def uid(self) -> str:
        """Of the object, for as long as it lives."""

    @property
    def resource_version(self) -> str:
        """Of what was seen."""


class Versioned(Protocol):
    """An object with such metadata."""

    @property
    def metadata(self) -> Metadata:
        """Its own."""


T = TypeVar("T", bound=Versioned)


@attrs.frozen
class Expiry(Reconciler, Generic[T]):
    """Deletes an object that has expired; else looks again when it would have.

    Attributes:
        resource: Whose objects.
        view: What is read of them.
        seconds_left: For how long one still counts: negative if it has expired.
        longest_look: Seconds between two looks at an object that does not change, at most.
    """

    clock: Clock
    client: Client
    cache: Lister[T]
    resource: Resource[Any]
    view: type[T]
    seconds_left: Callable[[T, datetime], float]
    longest_look: float

    def reconcile(self, request: Request) -> Result:
        """Look at one object."""
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
            except (NotFound, Conflict):  # deleted or renewed meanwhile, of which the cache will tell
                return Result()
        # Expired is what lies behind its time, so the instant itself is too early.
        return Result(requeue_after=min(left + 0.001, self.longest_look))

    def _left(self, obj: T) -> float:
        return self.seconds_left(obj, self.clock.now())

    def _delete(self, key: ObjectKey, obj: T) -> None:
        metadata = obj.metadata
        self.client.delete(self.resource, key, uid=metadata.uid, resource_version=metadata.resource_version)
        log.info("deleted what has expired", kind=self.resource.kind, object=key)
