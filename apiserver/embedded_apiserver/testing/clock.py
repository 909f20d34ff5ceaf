# SPDX-License-Identifier: Apache-2.0
"""A host whose wall clock a test can stop and move."""

from __future__ import annotations

from datetime import datetime, timedelta

from apimachinery.host import Host


class MovableHost:
    """A `Host` whose wall clock a test can stop and move. `monotonic`, and all waiting, go on as on the wrapped host.

    Threads: any.
    """

    def __init__(self, inner: Host) -> None:
        self._inner = inner
        self.name, self.random = inner.name, inner.random
        self.uuid, self.lock, self.condition = inner.uuid, inner.lock, inner.condition
        self.monotonic, self.elapsed, self.spawn = inner.monotonic, inner.elapsed, inner.spawn
        self.new_event_loop, self.leaving = inner.new_event_loop, inner.leaving
        # Replaced as a whole: the time at which the clock stands, None while it goes; and what it is ahead.
        self._shown: tuple[datetime | None, timedelta] = None, timedelta()

    def now(self) -> datetime:
        """Return the wall clock's time: that at which it was stopped plus the moves since then, or that of the wrapped
        host plus all moves.
        """
        stands_at, ahead = self._shown
        return (stands_at or self._inner.now()) + ahead

    def stand(self, at: datetime | None = None) -> None:
        """Stop the clock at the time `at`; None for the current time."""
        self._shown = at or self.now(), timedelta()

    def move(self, seconds: float) -> None:
        """Move the clock forwards by `seconds` (backwards if negative), whether it is stopped or running."""
        stands_at, ahead = self._shown
        self._shown = stands_at, ahead + timedelta(seconds=seconds)
