# SPDX-License-Identifier: Apache-2.0
"""A bounded memory of records, which forgets the oldest first."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Shelf(Generic[T]):
    """Keeps the newest items whose sizes together are at most `most` bytes.

    Args:
        most: Bytes. An item that is larger alone is not kept.

    Threads: its owner's lock.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: deque[tuple[T, int]] = deque()
        self.size = 0

    def add(self, item: T, size: int) -> None:
        """Keep an item, and forget the oldest ones until all fit."""
        if size > self._most:
            return
        self._items.append((item, size))
        self.size += size
        while self.size > self._most:
            self.size -= self._items.popleft()[1]

    def all(self) -> list[T]:
        """Return the items, the oldest first."""
        return [item for item, _ in self._items]


class Slowest(Generic[T]):
    """Keeps the slowest items of each controller, as far as they fit into `most` bytes.

    Args:
        most: Bytes.
        each: How many of one controller.

    Threads: its owner's lock.
    """

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._each = each
        self._items: list[tuple[float, str, T, int]] = []

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(size for *_, size in self._items)

    def add(self, item: T, size: int, controller: str, took: float) -> None:
        """Keep an item if it is one of the slowest of its controller, and forget the quickest until all fit."""
        mine = [took_ for took_, of, *_ in self._items if of == controller]
        if size > self._most or (len(mine) >= self._each and took <= min(mine)):
            return
        self._items.append((took, controller, item, size))
        self._items.sort(key=lambda each: -each[0])
        if len(mine) >= self._each:
            self._items.remove(next(each for each in reversed(self._items) if each[1] == controller))
        while self.size > self._most:
            self._items.pop()

    def all(self) -> list[T]:
        """Return the items, the slowest first."""
        return [item for _, _, item, _ in self._items]
