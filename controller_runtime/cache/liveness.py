# SPDX-License-Identifier: Apache-2.0
"""The signs of life of a cache's server, the last failure, and counts: for metrics and probes."""

from __future__ import annotations

from apimachinery.errors import ControllerRuntimeError, NoSuchKind, StreamIdle
from apimachinery.texts import kept_text

MISSING_TOLD_EVERY = 300.0
"""Seconds between two log lines about a kind that the server does not serve. The kind is requested every few seconds.
"""


class Liveness:
    """When a reflector last got messages from the server, and how its lists and watches failed.

    Args:
        now: When the reflector was made, in monotonic seconds.

    Attributes:
        heard_at: When the server last gave a sign of life, in monotonic seconds; at first, when the reflector was made.
            A line or a complete list counts. An opened stream counts, too, unless `came_to_nothing` was called and no
            line has come since.
        told_at: When a line or a complete list last came, in monotonic seconds; at first, when the reflector was made.
            Opening a watch does not count, since it brings the cache no news.
        failed_at: When a list or watch last failed, in monotonic seconds; None if none has.
        last_error: The text of the last failure; empty once a list or watch has succeeded.
        lists: Lists begun, streamed or paged.
        watches: Watches begun, streamed lists included.
        idle: Streams that were closed because they were silent.
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
        """Record that the server has opened a stream at `now`."""
        if not self._is_opening_ignored:
            self.heard_at = now

    def heard(self, now: float) -> None:
        """Record that a line, or a complete list, has come at `now`."""
        self.heard_at = self.told_at = now
        self._is_opening_ignored = False

    def failed(self, error: ControllerRuntimeError, now: float) -> bool:
        """Record that a list or a watch has failed; return True if the failure should be logged.

        A kind that the server does not serve is logged only every `MISSING_TOLD_EVERY` seconds.
        """
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
        """Record that an open watch failed: opening the next ones is no sign of life until a line or a list has come.

        It is not called if the server was down or busy, unless the watch failed within `reflector.TOO_SHORT`.
        """
        self._is_opening_ignored = True
