# SPDX-License-Identifier: Apache-2.0
"""A kind of a ring in which a key alone does not tell the slot: the slot of each object that is, or was deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from apimachinery.errors import Forbidden, NotFound
from apimachinery.host import Host
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.cache.held import Held
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.ring.division import OwnSlots

MOST_GONE = 100_000
"""The most deleted objects that are remembered. There is a limit because a controller whose predicate skips deletions
never forgets any.
"""


class _Gone(NamedTuple):
    uid: str
    slot: int | None


class RingKind:
    """Finds the slot of each object of one kind, also of deleted ones.

    It is for rings by uid or owner, where the slot cannot be computed from the key, and for kinds that a ring divides.

    Args:
        host: Creates the lock.
        client: Asks the server whether an object exists.
        resource: The kind.
        informers: The caches of the kind.
        division: Assigns objects to slots.
        on_moved: Called with the key of an object whose slot has changed, on the threads of the caches; it must not
            wait.

    Attributes:
        places: The kind with each namespace that is cached; an empty namespace stands for all.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        client: Client,
        resource: Resource[Any],
        informers: Sequence[Informer],
        division: OwnSlots,
        on_moved: Callable[[ObjectKey], None],
        advice: str,
    ) -> None:
        self._on_moved, self._advice = on_moved, advice
        self.places = tuple(dict.fromkeys((resource, each.collection.namespace) for each in informers))
        self._client, self._resource, self._division = client, resource, division
        # Guards the field below: the objects that were deleted, until their absence has been reconciled.
        self._lock = host.lock("kind of a ring")
        self._gone: dict[ObjectKey, _Gone] = {}
        self._stores = [informer.store for informer in informers]
        for informer in informers:
            informer.add_handler(self._note)

    def get(self, key: ObjectKey) -> Cached | None:
        """Return the object of a key; None if it is in no cache."""
        return next((cached for store in self._stores if (cached := store.get(key)) is not None), None)

    def held(self, key: ObjectKey, slot: int) -> Held:
        """Return the states of an object in the caches, which work on `slot` continues to see until it ends; see
        `holding`.
        """
        states = {store: store.get(key) for store in self._stores}
        return Held(key, states, lambda later: self._division.slot_of(later) == slot)

    def uid_of(self, key: ObjectKey) -> str:
        """Return the uid of the object of this key, or of the last one that was deleted; empty if none is known."""
        cached = self.get(key)
        return cached.uid if cached is not None else self._last(key).uid

    def slot_of(self, key: ObjectKey) -> int | None:
        """Return the slot of the object of a key, or of the last one that was deleted; None if none is known."""
        cached = self.get(key)
        return self._division.slot_of(cached) if cached is not None else self._last(key).slot

    def exists(self, key: ObjectKey) -> bool:
        """Return whether the server has an object of this key, with any uid. Only its metadata is requested.

        Raises:
            Forbidden: This process has no right to get it; the message names the remedy.
        """
        try:
            self._client.get(self._resource.only_metadata(), key)
        except NotFound:
            return False
        except Forbidden as error:
            raise error.advised(self._advice) from None
        return True

    def forget(self, key: ObjectKey, uid: str) -> None:
        """Forget the deleted object of this key and uid, because its slot is no longer needed.

        It was reconciled, another replica owns its slot, or a new object has its name.
        """
        with self._lock:
            if self._last(key).uid == uid:
                self._gone.pop(key, None)

    def _last(self, key: ObjectKey) -> _Gone:
        return self._gone.get(key, _NOBODY)  # a look-up in a dict is whole

    def _note(self, delta: Delta) -> None:
        with self._lock:
            self._gone.pop(delta.key, None)
            if delta.new is None:
                self._gone[delta.key] = _Gone(delta.object.uid, self._division.slot_of(delta.object))
                if len(self._gone) > MOST_GONE:
                    del self._gone[next(iter(self._gone))]
        if delta.old is not None and delta.new is not None and self._division.has_moved(delta.old, delta.new):
            self._on_moved(delta.key)


_NOBODY = _Gone("", None)
