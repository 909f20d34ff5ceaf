# SPDX-License-Identifier: Apache-2.0
"""A bounded memory of records, which forgets the oldest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Shelf(Generic[T]):
    """Keeps the newest items whose sizes together are at most `most` bytes.

    Args:
        most: The limit in bytes. A larger item is not kept.

    Threads: its owner's lock.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # Items that were added together, with their size together. They are dropped together, too, so that most items
        # cost neither a tuple nor a step of a loop of their own.
        self._batches: deque[tuple[Sequence[T], int]] = deque()
        self.size = 0

    def add(self, item: T, size: int) -> None:
        """Add an item with its size, and drop the oldest ones until all fit."""
        self.extend((item,), size)

    def extend(self, items: Sequence[T], size: int) -> None:
        """Add items with their size together, and drop the oldest ones until all fit.

        The items are kept and dropped together; the caller must not change the sequence.
        """
        if size > self._most:
            return
        self._batches.append((items, size))
        self.size += size
        while self.size > self._most:
            self.size -= self._batches.popleft()[1]

    def all(self) -> list[T]:
        """Return the items, the oldest first."""
        return [item for items, _ in self._batches for item in items]


class Slowest(Generic[T]):
    """Keeps the slowest items of each controller, as far as they fit into `most` bytes.

    Args:
        most: The limit in bytes.
        each: The most items of one controller.

    Threads: its owner's lock.
    """

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._each = each
        self._items: list[tuple[float, str, T, int]] = []
        self._forgotten = -1.0  # the seconds of the slowest item that was forgotten for its size

    @property
    def size(self) -> int:
        """The size of all items in bytes."""
        return sum(size for *_, size in self._items)

    def add(self, item: T, size: int, controller: str, took: float) -> float:
        """Add an item if it is one of the slowest of its controller, and drop the quickest ones until all fit.

        Returns:
            The seconds that the next item of the controller must exceed to be kept.
        """
        mine = [each for each in self._items if each[1] == controller]
        floor = max(self._forgotten, mine[-1][0] if len(mine) >= self._each else -1.0)
        if size > self._most or took <= floor:
            return floor
        self._items.append((took, controller, item, size))
        self._items.sort(key=lambda each: -each[0])
        mine = [each for each in self._items if each[1] == controller]
        if len(mine) > self._each:
            self._items.remove(mine.pop())
        while self.size > self._most:
            self._forgotten = self._items.pop()[0]
        return max(self._forgotten, mine[-1][0] if len(mine) >= self._each else -1.0)

    def all(self) -> list[T]:
        """Return the items, the slowest first."""
        return [item for _, _, item, _ in self._items]
