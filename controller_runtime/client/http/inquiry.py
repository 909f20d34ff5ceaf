# SPDX-License-Identifier: Apache-2.0
"""A slow call that is made once for all threads that wait for its result, each with its own deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from apimachinery.host import Host, Thread

T = TypeVar("T")


class Inquiry(Generic[T]):
    """Calls a slow function once, on a separate thread, for all threads that wait for its answer.

    The function is called when the first thread waits.

    Args:
        host: The source of time, threads and the lock.
        name: The name of the new thread.
        ask: The function; returns the answer, or raises.
        is_quick: True if the function takes hardly any time: the first waiting thread then calls it itself.
        daemon: True if the function cannot be interrupted and leaves nothing half done; see `Host.spawn`.

    Attributes:
        is_over: Whether the function has returned or raised.
        answer: The answer; None if there is none.
        failure: The error that the function raised; None if there is none.

    Threads: any.
    """

    def __init__(
        self, host: Host, name: str, ask: Callable[[], T], *, is_quick: bool = False, daemon: bool = False
    ) -> None:
        self._host = host
        self._name = name
        self._ask = ask
        self._is_quick = is_quick
        self._daemon = daemon
        # Guards the flags and the outcome. `is_over` is set last, so a thread that sees it without the lock sees the
        # outcome as well.
        self._condition = host.condition(name)
        self._has_begun = False
        self._is_given_up = False
        self.is_over = False
        self.answer: T | None = None
        self.failure: Exception | None = None

    def is_over_by(self, deadline: float) -> bool:
        """Wait until the function has returned or raised, or until `deadline` (monotonic seconds); return `is_over`.

        The first call starts the function. `give_up` ends the wait.
        """
        with self._condition:
            is_first, self._has_begun = not self._has_begun, True
        thread = self._begin() if is_first else None
        with self._condition:
            while not (self.is_over or self._is_given_up) and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
        if thread is not None and self.is_over:  # it ends at once, and need not outlive this call
            thread.join_until(deadline)
        return self.is_over

    def give_up(self) -> None:
        """Wake all threads that wait now, without an answer; later calls do not wait either."""
        with self._condition:
            self._is_given_up = True
            self._condition.notify_all()

    def _begin(self) -> Thread | None:
        if not self._is_quick:
            try:
                return self._host.spawn(self._name, self._find_out, daemon=self._daemon)
            except RuntimeError:  # the system has no threads left, so use this one
                pass
        self._find_out()
        return None

    def _find_out(self) -> None:
        try:
            self._end(self._ask(), None)
        except Exception as error:  # noqa: BLE001 (the waiting threads get it)
            self._end(None, error)

    def _end(self, answer: T | None, failure: Exception | None) -> None:
        with self._condition:
            self.answer, self.failure, self.is_over = answer, failure, True
            self._condition.notify_all()
