# SPDX-License-Identifier: Apache-2.0
"""The leaders that a replica has seen, and since when."""

from __future__ import annotations

from collections import deque

from apimachinery.host import Clock

KEPT = 50
"""The number of changes of the leader that are kept."""


class LeaderHistory:
    """Remembers the last changes of a leader.

    Args:
        clock: Its clock tells when a change was seen.

    Threads: `note` from one; `all` from any. There is no lock, because appending to a deque and copying it are atomic.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, str]] = deque(maxlen=KEPT)

    def note(self, leader: str) -> None:
        """Remember a new leader; empty if absent."""
        self._seen.append((self._clock.monotonic(), leader))

    def all(self) -> list[tuple[float, str]]:
        """Return the monotonic seconds and the name of each leader, the newest first."""
        return [*reversed(self._seen.copy())]
