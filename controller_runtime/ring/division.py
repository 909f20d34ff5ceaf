# SPDX-License-Identifier: Apache-2.0
"""Divides the objects of a kind, and the objects that those own, among the slots of a ring; pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import msgspec

from apimachinery.errors import UNREADABLE
from apimachinery.objects import Cached
from apimachinery.shards import UID, shard_selector
from controller_runtime.api.resources import Resource
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.slots import SLOTS, ranges_of, slot_of_name, slot_of_uid

_WIDTH = (1 << 64) // SLOTS
"""The number of hashes that a slot has."""


class _Owner(msgspec.Struct, gc=False, rename="camel"):
    kind: str = ""
    api_version: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Meta(msgspec.Struct, gc=False, rename="camel"):
    owner_references: list[_Owner] | None = None


class _Header(msgspec.Struct, gc=False):
    metadata: _Meta


_decode = msgspec.json.Decoder(_Header).decode


def slot_of_key(by: RingBy, namespace: str, name: str) -> int:
    """Return the slot of an object by its key, if the ring divides objects by namespace or by name."""
    if by is RingBy.NAMESPACE:
        return slot_of_name(namespace or name)
    return slot_of_name(f"{namespace}/{name}")


def selector_of(slots: int) -> str:
    """Return the `shardSelector` for the objects whose uid belongs to `slots`.

    A selector cannot be empty, so for no slots it selects one of 2^64 hash values, which practically no object has.
    """
    ranges = [(low * _WIDTH, (high + 1) * _WIDTH) for low, high in ranges_of(slots)]
    return shard_selector(UID, ranges or [(0, 1)])


@attrs.frozen
class OwnSlots:
    """Assigns each object to a slot by its own namespace, name, uid or owner; a `Division`."""

    by: RingBy

    def slot_of(self, cached: Cached) -> int | None:
        """Return the slot of an object.

        An object whose owner references cannot be read counts as without owner, so that some replica has it.
        """
        if self.by is RingBy.UID:
            return slot_of_uid(cached.uid)
        if self.by is RingBy.OWNER:
            return slot_of_name(next((owner.uid for owner in _owners(cached) if owner.controller), cached.uid))
        return slot_of_key(self.by, cached.namespace, cached.name)

    def has_moved(self, old: Cached, new: Cached) -> bool:
        """Return whether a change of an object, from `old` to `new`, has changed its slot."""
        if self.by is RingBy.OWNER or (self.by is RingBy.UID and old.uid != new.uid):
            return self.slot_of(old) != self.slot_of(new)
        return False

    def selector(self, slots: int) -> str:
        """Return the `shardSelector` for a set of slots (bits) if the ring divides objects by uid; else an empty text.

        A server hashes uids or namespaces, but the slots by namespace are not ranges of its hash.
        """
        return selector_of(slots) if self.by is RingBy.UID else ""


@attrs.frozen
class OwnersSlots:
    """Assigns each object to the slot of the object that controls it; a `Division`.

    An object without a controller of the kind `owner` belongs to no slot.
    """

    by: RingBy
    owner: Resource[Any]

    def slot_of(self, cached: Cached) -> int | None:
        """Return the slot of the object's controller; None if it has no controller of the kind `owner`."""
        for owner in _owners(cached):
            if owner.controller and owner.kind == self.owner.kind and _group(owner.api_version) == self.owner.group:
                if self.by is RingBy.UID:
                    return slot_of_uid(owner.uid)
                return slot_of_key(self.by, cached.namespace if self.owner.namespaced else "", owner.name)
        return None

    def selector(self, slots: int) -> str:
        """Return an empty text: a server cannot select by owners."""
        return ""


def _owners(cached: Cached) -> Sequence[_Owner]:
    try:
        return _decode(cached.head).metadata.owner_references or ()
    except UNREADABLE:
        return ()


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
