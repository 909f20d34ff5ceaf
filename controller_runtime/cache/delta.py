# SPDX-License-Identifier: Apache-2.0
"""One change of a store, for handlers."""

from __future__ import annotations

from typing import NamedTuple

from apimachinery.objects import Cached, ObjectKey


class Delta(NamedTuple):
    """One change of the store: an object was added (no `old`), changed, or deleted (no `new`).

    An object that was deleted and created again while the connection was down is one change, whose two
    sides differ in `uid`.

    Attributes:
        old: The object before the change.
        new: The object after the change.
        initial: The object was in the first list, or was in the store when the handler was added.
    """

    old: Cached | None
    new: Cached | None
    initial: bool = False

    @property
    def object(self) -> Cached:
        """The object after the change, or, if it was deleted, its last state."""
        found = self.new if self.new is not None else self.old
        assert found is not None, "a delta without an object"
        return found

    @property
    def key(self) -> ObjectKey:
        """The object's name and namespace."""
        return self.object.key
