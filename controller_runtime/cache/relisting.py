# SPDX-License-Identifier: Apache-2.0
"""The request to list again, which another thread makes while the reflector watches."""

from __future__ import annotations

from apimachinery.host import Host
from controller_runtime.client.listwatch import WatchStream


class RelistRequest:
    """Keeps why a collection is to be listed again, and ends the watch that is open when a reason comes.

    A reason is set before a stream is opened, so that the reflector finds it; or later, and then closes the stream.

    Args:
        host: Its lock.

    Threads: `make` from any, the rest the reflector's.
    """

    def __init__(self, host: Host) -> None:
        # Guards both fields: the thread that sets one of them reads the other.
        self._lock = host.lock("relist")
        self._why = ""
        self._open: WatchStream | None = None

    @property
    def is_made(self) -> bool:
        """Whether there is a reason to list again."""
        return bool(self._why)  # one reference; a reason that comes right after this closes the stream

    def make(self, why: str) -> None:
        """Set a reason, and close the open stream; without a reason, only close it."""
        with self._lock:
            self._why = why or self._why
            stream = self._open
        if stream is not None:
            stream.close()

    def follow(self, stream: WatchStream | None) -> None:
        """Note which stream is open; None if none is."""
        with self._lock:
            self._open = stream

    def take(self) -> str:
        """Return the reason and forget it; empty if absent."""
        with self._lock:
            why, self._why = self._why, ""
        return why
