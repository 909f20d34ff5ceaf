# SPDX-License-Identifier: Apache-2.0
"""Who belongs to whom: the references of stored objects, both ways, and what holds an object in being."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from controller_runtime.api.objects import OwnerReference
from controller_runtime.apiserver.kinds.kind import Kind, Kinds
from controller_runtime.apiserver.storage.stored import Stored

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
"""Finalizers by which a terminating owner waits: until its dependents are let go, or are gone."""


class Item(NamedTuple):
    """One stored object, by where it is kept."""

    kind: Kind
    key: str


class Meta(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """What decides about an object's being."""

    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def waits_for(self) -> str:
        """The finalizer by which this terminating owner waits for the collector; empty if it does not."""
        waits = self.deletion_timestamp and next((one for one in (ORPHAN, FOREGROUND) if one in self.finalizers), "")
        return waits or ""


class _Head(msgspec.Struct, gc=False):
    metadata: Meta


_heads = msgspec.json.Decoder(_Head)


def meta_of(item: Stored) -> Meta:
    """Decode just the part that matters here."""
    return _heads.decode(item.raw).metadata


class Standing(enum.Enum):
    """How an owner stands to what names it."""

    PRESENT = enum.auto()
    ABSENT = enum.auto()  # gone, or another object has its name now
    LEAVING = enum.auto()  # terminating, and waiting for its dependents to go first
    UNKNOWN = enum.auto()  # of a kind that is not served, or where the reference cannot reach


def lasting(
    references: Sequence[OwnerReference], standing: Callable[[OwnerReference], Standing]
) -> tuple[OwnerReference, ...]:
    """The references that still hold an object. None left of some means that it has to go.

    What cannot be judged holds: nothing is deleted on a guess.
    """
    return tuple(one for one in references if standing(one) in (Standing.PRESENT, Standing.UNKNOWN))


def owner_item(kinds: Kinds, reference: OwnerReference, dependent: Item) -> Item | None:
    """Where the owner would be kept; None if the reference cannot be followed.

    A namespaced owner is looked for in the dependent's own namespace; what has no
    namespace cannot have such an owner.
    """
    kind = kinds.named(reference.api_version, reference.kind)
    if kind is None:
        return None
    if not kind.namespaced:
        return Item(kind, reference.name)
    namespace, slash, _ = dependent.key.rpartition("/")
    return Item(kind, f"{namespace}/{reference.name}") if slash else None


class Dependents:
    """The references of all objects, and from an owner's uid back to who names it. Not thread-safe."""

    def __init__(self) -> None:
        self._references: dict[Item, tuple[OwnerReference, ...]] = {}
        self._by_owner: dict[str, dict[Item, None]] = {}

    def put(self, item: Item, references: tuple[OwnerReference, ...]) -> bool:
        """Remember the references of an object, none for one that is gone; whether they are others than before."""
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
        """What `item` names."""
        return self._references.get(item, ())

    def of(self, uid: str) -> list[Item]:
        """Who names the owner `uid`, in the order in which they began to."""
        return list(self._by_owner.get(uid, ()))

    def blocking(self, uid: str) -> bool:
        """Whether a dependent of `uid` holds up its deletion."""
        return any(
            one.uid == uid and one.block_owner_deletion for item in self.of(uid) for one in self._references[item]
        )


def _uids(references: Iterable[OwnerReference]) -> Iterable[str]:
    return dict.fromkeys(one.uid for one in references)
