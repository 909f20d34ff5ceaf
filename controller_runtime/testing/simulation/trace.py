# SPDX-License-Identifier: Apache-2.0
"""What happened, as a hash over all of it and the last lines of it."""

from __future__ import annotations

import hashlib
from collections import deque

_RECENT = 30


class Trace:
    """Lines of (time, thread, event); the same lines give the same digest, in any process.

    Args:
        keep: Keep every line, to see where two runs part.
    """

    def __init__(self, keep: bool) -> None:
        self.lines: list[str] = []
        self.recent: deque[str] = deque(maxlen=_RECENT)
        self._keep = keep
        self._hash = hashlib.blake2b(digest_size=16)

    def write(self, now: int, who: str, event: str) -> None:
        """Add one line."""
        line = f"{now} {who} {event}\n"
        self._hash.update(line.encode())
        self.recent.append(line)
        if self._keep:
            self.lines.append(line)

    @property
    def digest(self) -> str:
        """The hash over every line so far."""
        return self._hash.hexdigest()
