# SPDX-License-Identifier: Apache-2.0
"""One change of a store, for handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from apimachinery.objects import Cached, ObjectKey, PlainKey


class Delta(NamedTuple):
    """One change of a store: an object was added (`old` is None), changed, or deleted (`new` is None).

    If an object was deleted and created again while the connection was down, this is one change, in which the uids of
    `old` and `new` differ.

    Attributes:
        old: The object before the change; None if it was added.
        new: The object after the change; None if it was deleted.
        initial: True if the object was in the first list, or in the store when the handler was added.
    """

    old: Cached | None
    new: Cached | None
    initial: bool = False

    @property
    def object(self) -> Cached:
        """The object after the change; if it was deleted, its last state."""
        found = self.new if self.new is not None else self.old
        assert found is not None, "a delta without an object"
        return found

    @property
    def key(self) -> ObjectKey:
        """The object's name and namespace."""
        return self.object.key


change: Callable[[tuple[Cached | None, Cached | None, bool]], Delta] = partial(tuple.__new__, Delta)
"""Makes a `Delta` of its three fields, without a call of Python, because each change needs one."""


def differences(
    before: Mapping[PlainKey, Cached], objects: Mapping[PlainKey, Cached], *, initial: bool, went_back: bool
) -> list[Delta]:
    """Return how a list differs from the objects before it, deletions first.

    Args:
        before: The objects in the store.
        objects: The objects of the list.
        initial: Whether it is the first list.
        went_back: Whether it is of an older state of the server, as after a backup was restored. Then one version can
            name two states, so equal versions prove nothing.
    """
    deltas = [Delta(old, None) for key, old in before.items() if key not in objects]
    for key, new in objects.items():
        old = before.get(key)
        if old is None or not _same(old, new) or (went_back and old.raw != new.raw):
            deltas.append(Delta(old, new, initial))
    return deltas


def _same(old: Cached, new: Cached) -> bool:
    return old is new or (old.resource_version == new.resource_version and old.uid == new.uid)
