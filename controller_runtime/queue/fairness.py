# SPDX-License-Identifier: Apache-2.0
"""A band of the work queue that is fair among groups of items, such as namespaces; the queue's lock guards it.

Round robin alone would let an item of a busy group wait for as long as new groups keep coming. So each fourth hand-out
goes to the turn that was queued first of all. That gives a queued turn two bounds, whichever is sooner:

- with `p` turns before it in its group and never more than `G` groups at a time, `4/3 * (p + 1) * G` hand-outs;
- with `a` turns before it in the whole band, `4 * (a + 1)` hand-outs: four times as many as first come, first served.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from apimachinery.plain_functions import called, plain
from controller_runtime.queue.turns import FifoBand, Turn

T = TypeVar("T", bound=Hashable)

OLDEST_SHARE = 4
"""While several groups have turns, one hand-out in this many goes to the turn that was queued first."""


class FairBand(Generic[T]):
    """One band of a queue, in which groups of items alternate; inside each group, turns are first come, first served.

    A turn is one hand-out of one item.
    """

    __slots__ = ("_by_age", "_groups", "_is_low", "_ring", "_since_oldest", "count")

    def __init__(self, is_low: bool) -> None:
        self._is_low = is_low
        # Each turn is in the band of its group and in `_by_age`. Where it was not taken from, its entry stays behind.
        self._groups: dict[Hashable, FifoBand[T]] = {}
        self._by_age: FifoBand[T] = FifoBand(is_low)
        # The items of `_groups`, the next one first, and bands that were emptied from the middle: they leave when they
        # come to the front, and a group that comes back meanwhile has a new band, at the end.
        self._ring: deque[tuple[Hashable, FifoBand[T]]] = deque()
        # Hand-outs in a row that went by the ring.
        self._since_oldest = 0
        # How many turns are queued here.
        self.count = 0

    def append(self, turn: Turn[T]) -> None:
        """Queue a hand-out of an item as the last of its group."""
        group = self._groups.get(turn.group)
        if group is None:
            group = self._groups[turn.group] = FifoBand(self._is_low)
            self._ring.append((turn.group, group))
        group.append(turn)
        self._by_age.append(turn)
        self.count += 1

    def first(self) -> Turn[T] | None:
        """Return the next hand-out of an item, without removing it; None if none is READY."""
        if self._since_oldest >= OLDEST_SHARE - 1:
            return self._by_age.first()
        for _ in range(len(self._ring)):
            _, group = self._ring[0]
            turn = group.first()
            if turn is not None:
                return turn
            if group.count:  # its turns are BLOCKED: no more groups are passed over than items are being processed
                self._ring.rotate(-1)
            else:
                self._ring.popleft()
        return None

    def take(self, turn: Turn[T]) -> None:
        """Remove the hand-out that `first` has just returned."""
        if self._since_oldest >= OLDEST_SHARE - 1:
            self._since_oldest = 0
        else:
            self._since_oldest = self._since_oldest + 1 if len(self._ring) > 1 else 0
            self._ring.rotate(-1)
        self._remove(turn)

    def leave(self, turn: Turn[T]) -> None:
        """Remove a hand-out that moves to the other band (priority)."""
        self._remove(turn)

    def _remove(self, turn: Turn[T]) -> None:
        group = self._groups[turn.group]
        for band in (group, self._by_age):
            if band.first() is turn:
                band.take(turn)
            else:
                band.leave(turn)
        if not group.count:
            del self._groups[turn.group]
        self.count -= 1


def grouping(fair_by: Callable[[T], Hashable] | None) -> Callable[[T], Hashable] | None:
    """Return the function by which a queue groups items; None if `fair_by` is None, so that all are in one group.

    If an item's group cannot be hashed or is a coroutine, the returned function raises before the queue is changed.

    Raises:
        UsageError: `fair_by` is an `async def`.
    """
    if fair_by is None:
        return None
    plain("fair_by", fair_by)

    def group_of(item: T) -> Hashable:
        group = called("fair_by", fair_by, item)
        hash(group)
        return group

    return group_of
