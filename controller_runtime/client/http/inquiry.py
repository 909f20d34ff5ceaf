# SPDX-License-Identifier: Apache-2.0
"""A question whose answer takes its time: asked once for all who wait for it, each to his own deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from controller_runtime.core.host import Host, Thread

T = TypeVar("T")


class Inquiry(Generic[T]):
    """Asks a function once, on a thread of its own, when somebody first waits for the answer.

    Args:
        host: What it runs on.
        name: Of the thread.
        ask: Finds the answer, or raises.
        is_quick: It takes no time to speak of, so whoever comes first asks it himself.
        daemon: Nobody can end it, and it leaves nothing half done; see `Host.spawn`.

    Attributes:
        is_over: Whether there is an answer or a failure.
        answer: What was found; None if nothing was.
        failure: Why nothing was; None if something was, or it is not over.

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
        # Guards the flags and the outcome.
        self._condition = host.condition(name)
        self._has_begun = False
        self._is_given_up = False
        self.is_over = False
        self.answer: T | None = None
        self.failure: Exception | None = None

    def is_over_by(self, deadline: float) -> bool:
        """Wait until it is over, or given up, or `deadline` is past; whether it is over.

        The first who waits has it asked.
        """
        with self._condition:
            is_first, self._has_begun = not self._has_begun, True
        thread = self._begin() if is_first else None
        with self._condition:
            while not (self.is_over or self._is_given_up) and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
        if thread is not None and self.is_over:  # so it has nothing more to do
            thread.join_until(deadline)
        return self.is_over

    def give_up(self) -> None:
        """Let go of those who wait for it, now and later."""
        with self._condition:
            self._is_given_up = True
            self._condition.notify_all()

    def _begin(self) -> Thread | None:
        if not self._is_quick:
            try:
                return self._host.spawn(self._name, self._find_out, daemon=self._daemon)
            except RuntimeError:  # the system has no threads left; this one has to do
                pass
        self._find_out()
        return None

    def _find_out(self) -> None:
        try:
            self._end(self._ask(), None)
        except Exception as error:  # noqa: BLE001 (who waits is told)
            self._end(None, error)

    def _end(self, answer: T | None, failure: Exception | None) -> None:
        with self._condition:
            self.answer, self.failure, self.is_over = answer, failure, True
            self._condition.notify_all()
