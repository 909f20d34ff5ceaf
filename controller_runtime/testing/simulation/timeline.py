# SPDX-License-Identifier: Apache-2.0
"""Virtual time: a number of nanoseconds that advances from timer to timer.

Actions run on the thread that happens to advance time, which can be any. So they may change the scheduler's records and
wake tasks, but must call nothing that takes a lock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

SECOND = 1_000_000_000


def nanoseconds(seconds: float) -> int:
    """Return the whole nanoseconds nearest to `seconds`."""
    return round(seconds * SECOND)


class Timer:
    """An action to run at an instant, unless it is canceled before."""

    __slots__ = ("action", "when")

    def __init__(self, when: int, action: Callable[[], None]) -> None:
        self.when = when
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Keep the action from running. Idempotent."""
        self.action = None


class VirtualTimeline:
    """The present instant in nanoseconds, and the timers of later instants."""

    def __init__(self) -> None:
        self.now = 0
        self._heap: list[tuple[int, int, Timer]] = []
        self._made = 0  # breaks ties in the heap: timers are not ordered themselves

    def at(self, when: int, action: Callable[[], None]) -> Timer:
        """Run `action` when time reaches `when` (nanoseconds), and return its timer."""
        timer = Timer(when, action)
        self._made += 1
        heapq.heappush(self._heap, (when, self._made, timer))
        return timer

    def move(self) -> bool:
        """Advance time to the earliest timer, and run all actions of that instant; return False if there is no
        timer.
        """
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        if not self._heap:
            return False
        self.now = max(self.now, self._heap[0][0])
        while self._heap and self._heap[0][0] <= self.now:
            action = heapq.heappop(self._heap)[2].action
            if action is not None:
                action()
        return True
