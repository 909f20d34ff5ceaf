# SPDX-License-Identifier: Apache-2.0
"""Owner references between stored objects, in both directions, and which of them keep an object from being garbage."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from apimachinery.objects import OwnerReference
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.storage.stored import Stored

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
"""The finalizers of a terminating owner that waits until its dependents have been released, or are gone."""


class Item(NamedTuple):
    """The kind and key of an object in the storage.

    Attributes:
        kind: The kind in whose form the object is stored.
        key: The key of the object in the kind's collection.
    """

    kind: Kind
    key: str


class Meta(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """The metadata fields that garbage collection uses."""

    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def waits_for(self) -> str:
        """The finalizer for which a terminating owner waits for the garbage collector; empty if there is none."""
        waits = self.deletion_timestamp and next((one for one in (ORPHAN, FOREGROUND) if one in self.finalizers), "")
        return waits or ""


class _Head(msgspec.Struct, gc=False):
    metadata: Meta


_heads = msgspec.json.Decoder(_Head)


def meta_of(item: Stored) -> Meta:
    """Return the metadata fields of an object that garbage collection uses."""
    return _heads.decode(item.raw).metadata


class Standing(enum.Enum):
    """The state of an owner to which an object refers."""

    PRESENT = enum.auto()
    ABSENT = enum.auto()  # gone; another object, with another uid, may have its name
    LEAVING = enum.auto()  # terminating, and waiting for its dependents to go first
    UNKNOWN = enum.auto()  # its kind is not served, or it would need a namespace that the object does not have


def lasting(
    references: Sequence[OwnerReference], standing: Callable[[OwnerReference], Standing]
) -> tuple[OwnerReference, ...]:
    """Return the owner references that protect an object from garbage collection.

    A reference whose owner is UNKNOWN protects the object.

    An object that has references, none of which is returned, is garbage.
    """
    return tuple(one for one in references if standing(one) in (Standing.PRESENT, Standing.UNKNOWN))


def owner_item(kinds: Kinds, reference: OwnerReference, dependent: Item) -> Item | None:
    """Return the kind and key of an owner, whether it exists or not; None if the reference cannot be resolved.

    A namespaced owner is in the namespace of the dependent. A cluster-scoped dependent cannot have a namespaced owner.
    """
    kind = kinds.named(reference.api_version, reference.kind)
    if kind is None:
        return None
    if not kind.namespaced:
        return Item(kind, reference.name)
    namespace, slash, _ = dependent.key.rpartition("/")
    return Item(kind, f"{namespace}/{reference.name}") if slash else None


class Dependents:
    """An index of owner references: those of each object, and the dependents of each owner by its uid.

    Threads: one.
    """

    def __init__(self) -> None:
        self._references: dict[Item, tuple[OwnerReference, ...]] = {}
        self._by_owner: dict[str, dict[Item, None]] = {}

    def put(self, item: Item, references: tuple[OwnerReference, ...]) -> bool:
        """Set the owner references of an object, none for a deleted one; return whether they have changed."""
        before = self._references.get(item, ())
        if references == before:
            return False
        for uid in _uids(before):
            named = self._by_owner[uid]
            del named[item]
            if not named:
                del self._by_owner[uid]
        for uid in _uids(references):
            self._by_owner.setdefault(uid, {})[item] = None
        if references:
            self._references[item] = references
        else:
            del self._references[item]
        return True

    def references(self, item: Item) -> tuple[OwnerReference, ...]:
        """Return the owner references of an object."""
        return self._references.get(item, ())

    def of(self, uid: str) -> list[Item]:
        """Return the dependents of the owner with this uid, in the order in which they were added."""
        return list(self._by_owner.get(uid, ()))

    def blocking(self, uid: str) -> bool:
        """Return whether a dependent of the owner with this uid blocks its foreground deletion."""
        return any(
            one.uid == uid and one.block_owner_deletion for item in self.of(uid) for one in self._references[item]
        )


def _uids(references: Iterable[OwnerReference]) -> Iterable[str]:
    return dict.fromkeys(one.uid for one in references)
