# SPDX-License-Identifier: Apache-2.0
"""When a cache last heard from the server, why it last failed, and what it has counted: for metrics and probes."""

from __future__ import annotations

from apimachinery.errors import ControllerRuntimeError, NoSuchKind, StreamIdle
from apimachinery.texts import kept_text

MISSING_TOLD_EVERY = 300.0
"""Seconds between two log lines about a kind that the server does not serve; it is looked for every few seconds."""


class Liveness:
    """The signs of life that a reflector has had from the server, and the failures of its lists and watches.

    Args:
        now: When the reflector was made, in monotonic seconds.

    Attributes:
        heard_at: When the server was last heard from, in monotonic seconds; at first, when the reflector was made. A
            line or a whole list counts, and so does an opened stream, unless the watch before came to nothing.
        told_at: When a line or a whole list last came, in monotonic seconds; at first, when the reflector was made.
            Unlike the opening of a watch, these tell how far the cache has got.
        failed_at: When a list or watch last failed, in monotonic seconds; None if none has.
        last_error: The text of the last failure; empty once a list or watch has succeeded.
        lists: Lists begun, streamed or paged.
        watches: Watches begun, streamed lists included.
        idle: Streams given up because they were silent.
        skipped: Objects and lines that could not be read.

    Threads: written by the reflector's thread; read from any.
    """

    def __init__(self, now: float) -> None:
        self.heard_at = self.told_at = now
        self.failed_at: float | None = None
        self.last_error = ""
        self.lists = self.watches = self.idle = self.skipped = 0
        # When it was last told that the server does not serve the kind; None if something else has happened since.
        self._missing_told_at: float | None = None
        # A server, or a proxy before it, that opens each watch and then breaks it or says nothing is not alive. So
        # after a watch that came to nothing, opening the next one does not count as a sign of life; a line does.
        self._is_opening_ignored = False

    def opened(self, now: float) -> None:
        """Note that the server has opened a stream."""
        if not self._is_opening_ignored:
            self.heard_at = now

    def heard(self, now: float) -> None:
        """Note that a line, or a whole list, has come."""
        self.heard_at = self.told_at = now
        self._is_opening_ignored = False

    def failed(self, error: ControllerRuntimeError, now: float) -> bool:
        """Note that a list or a watch has failed, and return whether people should be notified of it again."""
        self.idle += isinstance(error, StreamIdle)
        self.last_error = kept_text(error)
        self.failed_at = now
        if not isinstance(error, NoSuchKind):
            self._missing_told_at = None
            return True
        is_due = self._missing_told_at is None or now - self._missing_told_at >= MISSING_TOLD_EVERY
        if is_due:
            self._missing_told_at = now
        return is_due

    def came_to_nothing(self) -> None:
        """Note that a watch was opened and then failed, so that opening the next one is not a sign of life."""
        self._is_opening_ignored = True
