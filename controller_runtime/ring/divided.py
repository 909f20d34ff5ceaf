# SPDX-License-Identifier: Apache-2.0
"""A kind whose caches are divided by a ring: which uid each of its keys has, or had before its deletion."""

from __future__ import annotations

from typing import Any

from controller_runtime.api.collection import Collection
from controller_runtime.api.objects import Cached, ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.share import Share
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.core.errors import NotFound
from controller_runtime.core.host import Host


class DividedKind:
    """One kind of a ring.

    Args:
        host: Its lock.
        client: Asks the server whether an object exists.
        informers: The manager's caches, which the kind must not be in yet.
        resource: The kind.
        share: The share of its objects that is kept.

    Attributes:
        share: As given.

    Threads: any.
    """

    def __init__(self, host: Host, client: Client, informers: Informers, resource: Resource[Any], share: Share) -> None:
        self.share = share
        self._client, self._resource = client, resource
        informers.divide(resource, share)
        # Guards the field below: the uids of objects that were deleted, until their absence has been reconciled.
        self._lock = host.lock("divided kind")
        self._gone: dict[ObjectKey, str] = {}
        self._stores = [informer.store for informer in informers.each(Collection(resource))]
        for informer in informers.each(Collection(resource)):
            informer.add_handler(self._note)

    def get(self, key: ObjectKey) -> Cached | None:
        """Return the object of a key, if it is in the share."""
        return next((cached for store in self._stores if (cached := store.get(key)) is not None), None)

    def uid_of(self, key: ObjectKey) -> str:
        """Return the uid of the object of a key, or that of the last one which was deleted; empty for neither."""
        cached = self.get(key)
        return cached.uid if cached is not None else self._gone.get(key, "")  # a look-up in a dict is whole

    def exists(self, key: ObjectKey) -> bool:
        """Return whether the server has an object of a key, under whatever uid; its metadata alone is asked for."""
        try:
            self._client.get(self._resource.only_metadata(), key)
        except NotFound:
            return False
        return True

    def forget(self, key: ObjectKey, uid: str) -> None:
        """Forget a deleted object: its absence has been reconciled, or its name is another object's."""
        with self._lock:
            if self._gone.get(key) == uid:
                del self._gone[key]

    def _note(self, delta: Delta) -> None:
        with self._lock:
            if delta.new is None:
                self._gone[delta.key] = delta.object.uid
            else:
                self._gone.pop(delta.key, None)
