# SPDX-License-Identifier: Apache-2.0
"""The trace of a simulation: a hash of all its lines, and the last of them."""

from __future__ import annotations

import hashlib
from collections import deque

_RECENT = 30
"""The number of lines that the report of a hang shows."""


class Trace:
    """Lines of (time, thread, event); the same lines give the same digest, in any process.

    Args:
        keep: True to keep every line in `lines`, to find the line at which two runs begin to differ.
    """

    def __init__(self, keep: bool) -> None:
        self.lines: list[str] = []
        self.recent: deque[str] = deque(maxlen=_RECENT)
        self._keep = keep
        self._hash = hashlib.blake2b(digest_size=16)

    def write(self, now: int, who: str, event: str) -> None:
        """Add one line.

        Args:
            now: The time, in nanoseconds.
            who: The name of the thread.
            event: The text.
        """
        line = f"{now} {who} {event}\n"
        self._hash.update(line.encode())
        self.recent.append(line)
        if self._keep:
            self.lines.append(line)

    @property
    def digest(self) -> str:
        """The hash of every line so far."""
        return self._hash.hexdigest()
