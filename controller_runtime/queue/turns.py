# SPDX-License-Identifier: Apache-2.0
"""The parts that a work queue is made of: turns, the two bands of those that are due, the timetable of waiting ones.

All are guarded by the queue's lock. Neither band nor timetable removes a turn that leaves
early; its entry stays behind, stale, and is dropped when its time comes.
"""

from __future__ import annotations

import enum
import heapq
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

LOW_SHARE = 8
"""While both bands wait, one hand-out in this many goes to the low one."""


class Place(enum.Enum):
    """Where a turn is."""

    WAITING = enum.auto()  # for its due time
    READY = enum.auto()  # to be handed out
    AGAIN = enum.auto()  # to be ready once the item is done, for it is held
    HELD = enum.auto()  # handed out


class Turn(Generic[T]):
    """One hand-out of one item, on its way from WAITING or AGAIN over READY to HELD.

    Attributes:
        low: Its band; may turn False, never back.
        at: When it falls due, while it waits; else since when it is ready, or held.
        causes: Why it is handed out.
    """

    __slots__ = ("at", "causes", "item", "low", "place")

    def __init__(self, item: T, low: bool) -> None:
        self.item = item
        self.low = low
        self.place = Place.WAITING
        self.at = float("inf")
        self.causes: tuple[str, ...] = ()


class _Band(Generic[T]):
    """READY and AGAIN turns of one band, first come, first served: a turn keeps its place while its item is held."""

    __slots__ = ("_is_low", "_passed", "_turns")

    def __init__(self, is_low: bool) -> None:
        self._is_low = is_low
        self._turns: deque[Turn[T]] = deque()
        # Turns that stood first while their items were held, in order: they come before all in `_turns`. There
        # are no more of them than items held at a time, so looking through them is cheap.
        self._passed: list[Turn[T]] = []

    def append(self, turn: Turn[T]) -> None:
        """Put a turn at the end."""
        self._turns.append(turn)

    def first(self) -> Turn[T] | None:
        """Return the first turn that is READY, if there is one."""
        for turn in self._passed:
            if turn.place is Place.READY:
                return turn
        while self._turns:
            turn = self._turns[0]
            if turn.low is self._is_low:  # else it was raised, and its entry here is stale
                if turn.place is Place.READY:
                    return turn
                self._passed.append(turn)
            self._turns.popleft()
        return None

    def take(self, turn: Turn[T]) -> None:
        """Take out what `first` returned."""
        if not (self._passed and self.leave(turn)):
            self._turns.popleft()

    def leave(self, turn: Turn[T]) -> bool:
        """Take out a turn if it was passed; otherwise its entry stays behind."""
        if turn not in self._passed:
            return False
        self._passed.remove(turn)
        return True


class Bands(Generic[T]):
    """The two bands of READY and AGAIN turns: the low one has a bounded share of the hand-outs."""

    __slots__ = ("_low", "_normal", "_passed_over")

    def __init__(self) -> None:
        self._normal: _Band[T] = _Band(is_low=False)
        # A turn that was raised may still have an entry here. It is no longer `low`, so the entry is stale.
        self._low: _Band[T] = _Band(is_low=True)
        # Hand-outs since the low band waits.
        self._passed_over = 0

    def append(self, turn: Turn[T]) -> None:
        """Put a turn at the end of its band."""
        (self._low if turn.low else self._normal).append(turn)

    def move_up(self, turn: Turn[T]) -> None:
        """Move a turn that was low to the end of the normal band."""
        self._low.leave(turn)
        self._normal.append(turn)

    def take(self) -> Turn[T] | None:
        """Take the next turn that is READY, if there is one."""
        low, normal = self._low.first(), self._normal.first()
        if low is not None and (normal is None or self._passed_over >= LOW_SHARE - 1):
            self._passed_over = 0
            self._low.take(low)
            return low
        if normal is None:
            return None
        self._passed_over = self._passed_over + 1 if low is not None else 0
        self._normal.take(normal)
        return normal


class Timetable(Generic[T]):
    """WAITING turns by due time; an entry whose turn has moved on, or forward, is stale."""

    __slots__ = ("_entries", "_sequence", "first")

    def __init__(self) -> None:
        # A heap; the number settles ties in the order of coming.
        self._entries: list[tuple[float, int, Turn[T]]] = []
        self._sequence = 0
        # When to look next: the earliest due time (or that of a stale entry), if any.
        self.first: float | None = None

    def __len__(self) -> int:
        """How many entries it has, stale ones included."""
        return len(self._entries)

    def put(self, turn: Turn[T], due: float, waiting: int) -> bool:
        """Let a turn wait until `due`; True if it is the first now.

        Args:
            turn: A new one, or one whose time comes forward.
            due: Absolute monotonic seconds.
            waiting: How many turns wait in all, to know when most entries are stale.
        """
        turn.at = due
        if len(self._entries) > 64 + 2 * waiting:
            self._entries = [entry for entry in self._entries if _is_live(entry)]
            heapq.heapify(self._entries)
        heapq.heappush(self._entries, (due, self._sequence, turn))
        self._sequence += 1
        self.first = self._entries[0][0]
        return self._entries[0][2] is turn

    def take_due(self, now: float) -> Turn[T] | None:
        """Take the first turn that is due by `now`, if there is one."""
        while self.first is not None and self.first <= now:
            entry = heapq.heappop(self._entries)
            self.first = self._entries[0][0] if self._entries else None
            if _is_live(entry):
                return entry[2]
        return None

    def clear(self) -> None:
        """Forget every turn."""
        self._entries.clear()
        self.first = None


def _is_live(entry: tuple[float, int, Turn[T]]) -> bool:
    due, _, turn = entry
    return turn.place is Place.WAITING and turn.at == due
