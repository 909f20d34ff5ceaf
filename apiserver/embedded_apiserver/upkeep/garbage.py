# SPDX-License-Identifier: Apache-2.0
"""Garbage collection: deletes objects whose owners are gone, and releases deleted owners that wait for dependents.

Decisions are made on the present state of the storage. Writes are requests to the server with the uid and the version
on which the decision was made, so that they fail if another client has changed the object since.
"""

from __future__ import annotations

from collections.abc import Iterable

from apimachinery.objects import OwnerReference
from embedded_apiserver.kinds.kind import Kinds
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.upkeep.internal_client import InternalClient
from embedded_apiserver.upkeep.ownership import (
    FOREGROUND,
    ORPHAN,
    Dependents,
    Item,
    Meta,
    Standing,
    lasting,
    meta_of,
    owner_item,
)

USER_AGENT = "garbage-collector"


class GarbageCollector:
    """Deletes objects whose owners no longer exist, and removes finalizers of deleted owners that wait for their
    dependents.

    The finalizers are `orphan` and `foregroundDeletion`.

    Pass each change to `see`, which adds the affected objects to `due`. `look` checks one object; it may be repeated at
    any time.

    Args:
        storage: The objects.
        kinds: The served kinds.
        client: Sends the writes.

    Attributes:
        due: The objects to check.

    Threads: one.
    """

    def __init__(self, storage: Storage, kinds: Kinds, client: InternalClient) -> None:
        self._storage = storage
        self._kinds = kinds
        self._client = client
        self._dependents = Dependents()
        self.due: dict[Item, None] = {}

    def see(self, item: Item, old: Stored | None, new: Stored | None) -> None:
        """Record a change of an object. `old` is None for an object that was unknown, `new` for a deleted one."""
        before = self._dependents.references(item)
        if new is None:
            self._dependents.put(item, ())
            if old is not None:
                self._add_due(*self._dependents.of(meta_of(old).uid))
            self._add_due(*self._owners(item, before))
            return
        meta = meta_of(new)
        if self._dependents.put(item, meta.owner_references):
            self._add_due(item, *self._owners(item, before))
        if meta.waits_for:
            self._add_due(item, *self._dependents.of(meta.uid))

    def look(self, item: Item) -> bool:
        """Check an object, and delete or patch it if its owner references or its dependents require that; return False
        if it must be checked again.
        """
        found = self._storage.get(item.kind.resource, item.key)
        if found is None:
            return True
        meta = meta_of(found)
        done = self._judge(item, meta) if meta.owner_references else True
        return self._release(item, meta) and done

    def _owners(self, item: Item, references: Iterable[OwnerReference]) -> Iterable[Item]:
        return (owner for one in references if (owner := owner_item(self._kinds, one, item)) is not None)

    def _add_due(self, *items: Item) -> None:
        self.due.update(dict.fromkeys(items))

    def _judge(self, item: Item, meta: Meta) -> bool:
        """Delete the object if all its owners are gone, or remove its references to those that are."""
        standings = {one: self._standing(one, item) for one in meta.owner_references}
        holding = lasting(meta.owner_references, standings.__getitem__)
        if len(holding) == len(meta.owner_references):
            return True
        if holding:
            return self._keep_references(item, meta, holding)
        if meta.deletion_timestamp:
            return True
        # An owner is being deleted in the foreground: the object's own dependents have to go before it, too.
        first = Standing.LEAVING in standings.values() and self._dependents.of(meta.uid)
        return self._client.delete(item, meta, "Foreground" if first else "Background")

    def _standing(self, reference: OwnerReference, dependent: Item) -> Standing:
        where = owner_item(self._kinds, reference, dependent)
        if where is None:
            return Standing.UNKNOWN
        found = self._storage.get(where.kind.resource, where.key)
        if found is None or (meta := meta_of(found)).uid != reference.uid:
            return Standing.ABSENT
        return Standing.LEAVING if meta.waits_for == FOREGROUND else Standing.PRESENT

    def _release(self, owner: Item, meta: Meta) -> bool:
        """Remove the finalizer of a terminating owner once its dependents are released or, if blocking, gone."""
        match meta.waits_for:
            case "":
                return True
            case kind if kind == ORPHAN:
                if self._dependents.of(meta.uid):
                    return all(self._disown(item, meta.uid) for item in self._dependents.of(meta.uid))
            case _:
                if self._dependents.blocking(meta.uid):
                    return True
        left = [one for one in meta.finalizers if one != meta.waits_for]
        return self._client.patch(owner, meta, {"finalizers": left})

    def _disown(self, item: Item, uid: str) -> bool:
        """Remove an object's references to the owner `uid`."""
        found = self._storage.get(item.kind.resource, item.key)
        if found is None:
            return True
        meta = meta_of(found)
        return self._keep_references(item, meta, tuple(one for one in meta.owner_references if one.uid != uid))

    def _keep_references(self, item: Item, meta: Meta, references: tuple[OwnerReference, ...]) -> bool:
        # As they are stored: a reference that says nothing of a controller must not say `false` afterwards.
        found = self._storage.get(item.kind.resource, item.key)
        stored = [] if found is None else found.decode()["metadata"].get("ownerReferences", [])
        kept = {one.uid for one in references}
        return self._client.patch(item, meta, {"ownerReferences": [one for one in stored if one.get("uid") in kept]})
