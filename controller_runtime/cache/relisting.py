# SPDX-License-Identifier: Apache-2.0
"""The request for a new list, which another thread makes while the reflector watches."""

from __future__ import annotations

from apimachinery.host import Host
from controller_runtime.client.listwatch import WatchStream


class RelistRequest:
    """Holds the reason for a new list, and closes the open watch when a reason is set.

    Args:
        host: The source of the lock.

    Threads: `make` from any, the other methods from the reflector's.
    """

    def __init__(self, host: Host) -> None:
        # Guards both fields: the thread that sets one of them reads the other.
        self._lock = host.lock("relist")
        self._why = ""
        self._open: WatchStream | None = None

    @property
    def is_made(self) -> bool:
        """Whether there is a reason for a new list."""
        return bool(self._why)  # one reference; a reason that comes right after this closes the stream

    def make(self, why: str) -> None:
        """Set the reason and close the open stream. An empty `why` only closes the stream."""
        with self._lock:
            self._why = why or self._why
            stream = self._open
        if stream is not None:
            stream.close()

    def follow(self, stream: WatchStream | None) -> None:
        """Set the stream that is open; None if none is."""
        with self._lock:
            self._open = stream

    def take(self) -> str:
        """Return the reason and clear it; empty if there is none."""
        with self._lock:
            why, self._why = self._why, ""
        return why
