# SPDX-License-Identifier: Apache-2.0
"""Work that follows from changes, done by the threads that make the changes."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.host import Host


class Settling:
    """Runs a function after changes until no change is left, on one thread at a time.

    A thread that reports a change by `settle` runs the function before `settle` returns. But while another thread runs
    it, `settle` returns immediately, and the other thread runs the function once more. So the work needs no thread of
    its own, no thread waits for another, and after each change a run of the function begins.

    Args:
        host: Creates the locks.
        name: The label of the lock.
        act: The function, which acts on the current state. It never runs twice at the same time, so state that only it
            uses needs no lock. Its exception is raised by `settle`, and the next report runs it again.

    Threads: any. No lock is held while `act` runs, so `act` may itself call `settle`.
    """

    def __init__(self, host: Host, name: str, act: Callable[[], None]) -> None:
        self._act = act
        # Guards the two flags: `_due` if something may have changed since an act began, `_busy` while a thread acts.
        self._lock = host.lock(name)
        self._due = self._busy = False

    def settle(self) -> None:
        """Run the function given to this object, because something may have changed; return when it has run.

        If the function is running already, return at once: the thread that runs it runs it again afterwards.
        """
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
