# SPDX-License-Identifier: Apache-2.0
"""The parts of a work queue: turns, the two bands in which they are queued, and the heap of delayed ones.

A turn is one hand-out of one item, planned or under way. A band is one of two priorities, normal and low.
The queue's lock guards everything here.

Removing an entry from the middle of a deque or a heap would cost a search. So a turn that leaves early (it was
raised to the normal band, or its due time was brought forward) leaves its entry behind. Such an entry is stale:
it is recognized when it comes to the front, and dropped.
"""

from __future__ import annotations

import enum
import heapq
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from controller_runtime.queue.causes import PlainCause, PlainVersion, cover, with_cause

T = TypeVar("T", bound=Hashable)

LOW_SHARE = 8
"""While both bands have ready turns, one hand-out in this many comes from the low band."""

_STALE_AT_LEAST = 64
"""Stale entries of the heap that are not worth sweeping: a small heap is cheap, and a sweep costs a pass over all."""


class TurnState(enum.Enum):
    """The progress of a turn (one hand-out of one item).

    It starts as DELAYED, BLOCKED or READY, and ends as PROCESSING.

    - DELAYED: its due time has not come.
    - BLOCKED: the item is still being processed from its previous turn.
    - READY: it can be handed out.
    - PROCESSING: it was handed out, and `done` was not called yet.
    """

    DELAYED = enum.auto()  # until its due time
    READY = enum.auto()  # queued, and may be handed out
    BLOCKED = enum.auto()  # queued, but another turn of its item is being processed
    PROCESSING = enum.auto()  # handed out by `get`, and not given back by `done` yet


class QueueStage(enum.Enum):
    """The state of a queue: open, draining (no additions, but a wait for all items to be done), or shut down."""

    OPEN = enum.auto()
    DRAINING = enum.auto()  # shut down, and a caller of `shut_down` waits until all work is done
    SHUT = enum.auto()


class Turn(Generic[T]):
    """One hand-out of one item, from its addition until `done`.

    Attributes:
        item: The item.
        low: True if it is in the low band. It may change to False, never back.
        state: Its progress.
        at: A time in monotonic seconds: the due time while DELAYED; otherwise when it was queued, or handed out.
        causes: Why the item is handed out, for people; each has the fields of a `Cause`.
        covered: Versions that caused the hand-out, too, but are not in `causes`; None if there are none.
        group: The group of the item in a fair queue; None in other queues.
    """

    __slots__ = ("at", "causes", "covered", "group", "item", "low", "state")

    def __init__(self, item: T, low: bool, group: Hashable = None) -> None:
        self.item = item
        self.low = low
        self.group = group
        self.state = TurnState.DELAYED
        self.at = float("inf")  # later than any due time that it is given
        self.causes: tuple[PlainCause, ...] = ()
        self.covered: list[PlainVersion] | None = None

    def add_cause(self, cause: PlainCause) -> None:
        """Add one more reason for which the item is handed out."""
        if not self.causes:
            self.causes = (cause,)
            return
        self.causes, untold = with_cause(self.causes, cause)
        if untold is not None and (untold is cause or untold[1:3] != cause[1:3]):
            self.covered = self.covered or []
            cover(self.covered, untold)


class Band(Protocol[T]):
    """The turns that are queued in one band (priority), in the order in which they are handed out."""

    @property
    def count(self) -> int:
        """The number of hand-outs that are queued in this band (priority)."""

    def append(self, turn: Turn[T]) -> None:
        """Queue a hand-out of an item."""

    def first(self) -> Turn[T] | None:
        """Return the next hand-out of an item, without removing it; None if none is READY."""

    def take(self, turn: Turn[T]) -> None:
        """Remove the hand-out that `first` has just returned."""

    def leave(self, turn: Turn[T]) -> None:
        """Remove a hand-out that moves to the other band (priority)."""


class FifoBand(Generic[T]):
    """The turns that are queued in one band, first come, first served. A BLOCKED turn keeps its place in the order."""

    __slots__ = ("_is_low", "_skipped", "_turns", "count")

    def __init__(self, is_low: bool) -> None:
        self._is_low = is_low
        # Queued turns in their order, and stale entries among them.
        self._turns: deque[Turn[T]] = deque()
        # Turns that were BLOCKED when they came to the front of `_turns`, in their order: they precede all of
        # `_turns`. There are never more of them than items being processed, so looking through them is cheap.
        self._skipped: list[Turn[T]] = []
        # How many turns are queued here, without the stale entries.
        self.count = 0

    def append(self, turn: Turn[T]) -> None:
        """Queue a hand-out of an item as the last of the band."""
        self._turns.append(turn)
        self.count += 1

    def first(self) -> Turn[T] | None:
        """Return the first hand-out that is READY, without removing it; None if there is none."""
        for turn in self._skipped:
            if turn.state is TurnState.READY:
                return turn
        while self._turns:
            turn = self._turns[0]
            if turn.low is self._is_low:  # else the entry is stale: the turn was raised to the normal band
                if turn.state is TurnState.READY:
                    return turn
                if turn.state is TurnState.BLOCKED:  # else it is stale, too: it was taken by way of another band
                    self._skipped.append(turn)
            self._turns.popleft()
        return None

    def take(self, turn: Turn[T]) -> None:
        """Remove the hand-out that `first` has just returned."""
        if not (self._skipped and self._unskip(turn)):
            self._turns.popleft()
        self.count -= 1

    def leave(self, turn: Turn[T]) -> None:
        """Remove a hand-out that moves to the other band. Its list entry may stay behind, and is skipped later."""
        self._unskip(turn)
        self.count -= 1

    def _unskip(self, turn: Turn[T]) -> bool:
        if turn not in self._skipped:
            return False
        self._skipped.remove(turn)
        return True


class Bands(Generic[T]):
    """All queued turns (READY and BLOCKED), in two bands, in the order in which they are handed out.

    The normal band comes first, but a fixed share of the hand-outs goes to the low one, so that it does not starve.

    Args:
        band: Makes one band; its argument is True for the low one.
    """

    __slots__ = ("_low", "_low_waited_for", "_normal")

    def __init__(self, band: Callable[[bool], Band[T]]) -> None:
        self._normal = band(False)
        self._low = band(True)
        # Hand-outs from the normal band in a row while the low band had a READY turn.
        self._low_waited_for = 0

    def __len__(self) -> int:
        """Return how many turns are queued, in both bands."""
        return self._normal.count + self._low.count

    @property
    def depth(self) -> int:
        """The number of hand-outs that are queued with normal priority."""
        return self._normal.count

    @property
    def low_depth(self) -> int:
        """The number of hand-outs that are queued with low priority."""
        return self._low.count

    def append(self, turn: Turn[T]) -> None:
        """Queue a hand-out of an item as the last of its band (priority)."""
        (self._low if turn.low else self._normal).append(turn)

    def raise_to_normal(self, turn: Turn[T]) -> None:
        """Move a queued item from the low band to the end of the normal one.

        Args:
            turn: The item's turn, whose `low` the caller has already set to False.
        """
        self._low.leave(turn)
        self._normal.append(turn)

    def take(self) -> Turn[T] | None:
        """Remove and return the next hand-out of an item; None if none is READY."""
        low, normal = self._low.first(), self._normal.first()
        if low is not None and (normal is None or self._low_waited_for >= LOW_SHARE - 1):
            self._low_waited_for = 0
            self._low.take(low)
            return low
        if normal is None:
            return None
        self._low_waited_for = self._low_waited_for + 1 if low is not None else 0
        self._normal.take(normal)
        return normal


class DelayedTurns(Generic[T]):
    """A heap of the DELAYED turns by due time. An entry is stale if its turn is no longer DELAYED until that time."""

    __slots__ = ("_entries", "_sequence", "first")

    def __init__(self) -> None:
        # Due time, sequence number and turn. The number keeps turns of equal due times in the order of their coming,
        # and keeps `heapq` from comparing turns.
        self._entries: list[tuple[float, int, Turn[T]]] = []
        self._sequence = 0
        # The due time of the first entry, stale or not; None if there is no entry.
        self.first: float | None = None

    def __len__(self) -> int:
        """Return how many entries there are, including the stale ones."""
        return len(self._entries)

    def put(self, turn: Turn[T], due: float, live: int) -> bool:
        """Delay a turn until `due`; return True if its entry is now the first one, before stale ones, too.

        Args:
            turn: A new turn, or one whose due time is brought forward.
            due: Absolute monotonic seconds.
            live: The number of all delayed turns, this one included. If more than half of the entries must be stale,
                the stale ones are removed, so that an item that is often brought forward does not fill the heap.
        """
        turn.at = due
        if len(self._entries) > _STALE_AT_LEAST + 2 * live:
            self._entries = [entry for entry in self._entries if _is_live(entry)]
            heapq.heapify(self._entries)
        heapq.heappush(self._entries, (due, self._sequence, turn))
        self._sequence += 1
        self.first = self._entries[0][0]
        return self._entries[0][2] is turn

    def take_due(self, now: float) -> Turn[T] | None:
        """Remove and return the hand-out with the earliest due time, if that is at or before `now`; otherwise None."""
        while self.first is not None and self.first <= now:
            entry = heapq.heappop(self._entries)
            self.first = self._entries[0][0] if self._entries else None
            if _is_live(entry):
                return entry[2]
        return None

    def clear(self) -> None:
        """Remove all delayed hand-outs."""
        self._entries.clear()
        self.first = None


def _is_live(entry: tuple[float, int, Turn[T]]) -> bool:
    due, _, turn = entry
    return turn.state is TurnState.DELAYED and turn.at == due
