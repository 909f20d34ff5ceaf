# SPDX-License-Identifier: Apache-2.0
"""The leaders that a replica has seen, and since when."""

from __future__ import annotations

from collections import deque

from apimachinery.host import Clock

KEPT = 50
"""The number of changes of the leader that are kept."""


class LeaderHistory:
    """Remembers the last leaders, with the times at which they were first seen.

    Args:
        clock: The source of the time.

    Threads: `note` from one; `all` from any. There is no lock, because appending to a deque and copying it are atomic.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, str]] = deque(maxlen=KEPT)

    def note(self, leader: str) -> None:
        """Add a new leader; an empty text if there is none."""
        self._seen.append((self._clock.monotonic(), leader))

    def all(self) -> list[tuple[float, str]]:
        """Return the time (monotonic seconds) and the identity of each leader, the newest first."""
        return [*reversed(self._seen.copy())]
