# SPDX-License-Identifier: Apache-2.0
"""The request for a new list, which another thread makes while the reflector watches."""

from __future__ import annotations

from apimachinery.host import Host
from controller_runtime.client.listwatch import WatchStream


class RelistRequest:
    """Holds the reason for a new list, and closes the open watch when a reason is set.

    Args:
        host: Creates the lock.

    Attributes:
        why: The reason for a new list; empty if there is none. It is read without the lock: a reason that comes right
            after a read closes the stream.

    Threads: `make` from any, the other methods from the reflector's.
    """

    def __init__(self, host: Host) -> None:
        # Guards both fields: the thread that sets one of them reads the other.
        self._lock = host.lock("relist")
        self.why = ""
        self._open: WatchStream | None = None

    def make(self, why: str) -> None:
        """Set the reason and close the open stream. An empty `why` only closes the stream."""
        with self._lock:
            self.why = why or self.why
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
            why, self.why = self.why, ""
        return why
