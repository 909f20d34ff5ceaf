# SPDX-License-Identifier: Apache-2.0
"""The changes of objects that could not be mapped to requests, as one delta for each object.

A mapper that fails for an object has not mapped its change. So that the change is not lost, it is kept, and later
changes of the same object are merged into it: from the state that was mapped last to the newest one. This is what a
cache itself reports after a lost connection, so mappers have to cope with it anyway. They map the object before and
after a change: the owners that it had when it was mapped last are requested, and so are those that it has now. An
object that was deleted and made again is such a change as well, whose two sides differ in `uid`. States between the two
are not mapped: an owner that the object had only while its mapper failed is not requested because of that.
"""

from __future__ import annotations

from typing import Self

import attrs

from apimachinery.objects import Cached, PlainKey
from controller_runtime.cache.store import Delta


@attrs.frozen(eq=False)
class KeptChange:
    """The changes of one object whose mapping failed, merged into one.

    Attributes:
        mapped: The last state of the object that was mapped; None if none was, as for a new object.
        last: The newest state of the object.
        is_deleted: Whether the object has been deleted; `last` is its last state then.
        is_initial: Whether the object was in the initial list and has not changed since.
        failures: How often mapping has failed since the change was kept.
        tries_of_deletion: How often mapping has failed since the object was deleted.
        error: The last error as text.
        is_told: Whether the failure was logged above debug level.
    """

    mapped: Cached | None
    last: Cached
    is_deleted: bool
    is_initial: bool
    failures: int = 0
    tries_of_deletion: int = 0
    error: str = ""
    is_told: bool = False

    @classmethod
    def of(cls, delta: Delta) -> Self:
        """Start a kept change from the first delta of an object that has no unmapped ones."""
        return cls(delta.old, delta.object, delta.new is None, delta.initial)

    def merged(self, later: Delta) -> KeptChange:
        """Return a copy to which the next change of the same object is added."""
        is_initial = self.is_initial and later.initial
        is_deleted = later.new is None
        return attrs.evolve(self, last=later.object, is_deleted=is_deleted, is_initial=is_initial, tries_of_deletion=0)

    @property
    def delta(self) -> Delta:
        """The delta to map next."""
        if not self.is_deleted:
            return Delta(self.mapped, self.last, self.is_initial)
        return Delta(self.last if self.mapped is None else self.mapped, None)

    def after_success(self) -> KeptChange | None:
        """Return what is left to map after `delta` was mapped; None if nothing is.

        A deleted object may need two deltas. The first deletes the state that was mapped before; the second one deletes
        the last state, which may be the one that cannot be mapped.
        """
        if self.is_deleted and self.mapped is not None and self.mapped is not self.last:
            return attrs.evolve(self, mapped=None)
        return None

    def after_failure(self, error: str) -> Self:
        """Return a copy with one more failure, whose text is `error`."""
        tries = self.tries_of_deletion + self.is_deleted
        return attrs.evolve(self, failures=self.failures + 1, tries_of_deletion=tries, error=error)


class KeptChanges:
    """The kept changes of one collection, one for each object whose mapping fails.

    Threads: any that hold the owner's lock. `merge` and `is_kept` are called by one thread at a time, which needs no
    lock for `is_kept`, because no other thread adds an object.
    """

    def __init__(self) -> None:
        self._kept: dict[PlainKey, KeptChange] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def is_kept(self, key: PlainKey) -> bool:
        """Return whether a change of the object is kept."""
        return key in self._kept

    def get(self, key: PlainKey) -> KeptChange | None:
        """Return the kept change of an object; None if there is none."""
        return self._kept.get(key)

    def first(self, count: int) -> list[KeptChange]:
        """Return up to `count` kept changes, the oldest objects first."""
        return [kept for kept, _ in zip(self._kept.values(), range(count), strict=False)]

    def keep(self, kept: KeptChange) -> None:
        """Add the kept change of an object that has none yet."""
        self._kept[kept.last.plain_key] = kept

    def merge(self, delta: Delta) -> KeptChange | None:
        """Merge a change into the kept one of its object, and return the result; None if no change is kept."""
        kept = self._kept.get(delta.object.plain_key)
        if kept is None:
            return None
        merged = self._kept[kept.last.plain_key] = kept.merged(delta)
        return merged

    def settle(self, tried: KeptChange, left: KeptChange | None) -> bool:
        """Replace a change that was tried by the part that is left to map; None removes it.

        Returns:
            False, without an effect, if meanwhile another change was merged or another try was settled: the result of
                this try is then out of date.
        """
        key = tried.last.plain_key
        if self._kept.get(key) is not tried:
            return False
        if left is None:
            del self._kept[key]
        else:
            self._kept[key] = left
        return True
