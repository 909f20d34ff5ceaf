# SPDX-License-Identifier: Apache-2.0
"""Work that follows from changes, done by the threads that make the changes."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.host import Host


class Settling:
    """Acts on changes until none is left, on one thread at a time.

    The thread that reports a change acts on it before its call returns. The exception: while another thread acts, a
    report returns at once, and that thread acts once more when it is done. So no thread has to be started for the
    work, none waits for another, and no change is left without an act that began after it.

    Args:
        host: Provides the lock.
        name: The name of the lock.
        act: Acts on everything as it is now. It is never called twice at the same time, so state that it alone uses
            needs no lock. If it raises, its caller gets the error, and the next report acts again.

    Threads: any. The lock guards two flags and is not held while `act` runs, so `act` may itself cause a report.
    """

    def __init__(self, host: Host, name: str, act: Callable[[], None]) -> None:
        self._act = act
        # Guards the two flags: `_due` if something may have changed since an act began, `_busy` while a thread acts.
        self._lock = host.lock(name)
        self._due = self._busy = False

    def settle(self) -> None:
        """Report that something may have changed, and act on it unless another thread does."""
        with self._lock:
            self._due = True
        while self._claim():
            try:
                self._act()
            finally:
                with self._lock:
                    self._busy = False

    def _claim(self) -> bool:
        """Return True if there is something to do and no other thread does it; the caller then has to."""
        with self._lock:
            if self._busy or not self._due:
                return False
            self._busy, self._due = True, False
            return True
