# SPDX-License-Identifier: Apache-2.0
"""Finds a coroutine that blocks its event loop, and so all other coroutines of its controller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from apimachinery.host import Host, Thread
from apimachinery.log import get_logger
from controller_runtime.controller.active_reconciles import ActiveReconciles

log = get_logger(__name__)

LOOP_BLOCKED_AFTER = 2.0
"""Seconds for which an event loop must fail to run a callback before it counts as blocked."""

LOOP_ASKED_EVERY = 1.0
"""Seconds between the end of one check of the event loop and the next check."""


class LoopWatchdog:
    """Checks that an event loop responds while reconciles are active, and logs when it does not.

    A coroutine that blocks the loop, by a long computation or a call that waits (`time.sleep`, the synchronous client),
    is logged once, with its stack, 2 to 3 seconds after it began.

    Args:
        host: The source of the time and the lock's condition.
        name: The controller's name.
        loop: The event loop.
        active: The active reconciles; the loop is checked only while there are any.
        post: Calls a function on the loop's thread, or does nothing if the loop has ended.

    Threads: one for `run`; `close` from any.
    """

    def __init__(
        self,
        host: Host,
        name: str,
        loop: asyncio.AbstractEventLoop,
        active: ActiveReconciles,
        post: Callable[[Callable[[], None]], None],
    ) -> None:
        self._host = host
        self._name = name
        self._loop = loop
        self._active = active
        self._post = post
        # Guards the two fields below.
        self._condition = host.condition(f"{name} watchdog")
        self._has_answered = False
        self._is_closed = False

    def run(self, thread: Thread) -> None:
        """Check the loop until `close` is called.

        Args:
            thread: The loop's thread, whose stack is logged.
        """
        while self._active.wait_for_one():
            asked = self._host.monotonic()
            with self._condition:
                self._has_answered = False
            self._post(self._answer)
            if not self._wait(asked + LOOP_BLOCKED_AFTER):
                self._warn(thread, asked)
                self._wait(None)
                log.info("event loop goes on", controller=self._name, blocked_for=self._host.monotonic() - asked)
            self._pause(LOOP_ASKED_EVERY)

    def close(self) -> None:
        """End `run`, because the loop has ended."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    def _answer(self) -> None:
        with self._condition:
            self._has_answered = True
            self._condition.notify_all()

    def _wait(self, deadline: float | None) -> bool:
        """Wait for the answer or the end, and return whether it came by `deadline` (monotonic seconds)."""
        with self._condition:
            while not (self._has_answered or self._is_closed):
                if deadline is not None and self._host.monotonic() >= deadline:
                    return False
                self._condition.wait_until(deadline)
        return True

    def _pause(self, seconds: float) -> None:
        deadline = self._host.monotonic() + seconds
        with self._condition:
            while not self._is_closed and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)

    def _warn(self, thread: Thread, asked: float) -> None:
        # Read from another thread than the loop's. If the loop goes on at this very moment, this names another task.
        task = asyncio.current_task(self._loop)
        log.warning(
            "event loop blocked: a coroutine computes, or calls a function that waits without `await`",
            controller=self._name,
            coroutine=task.get_name() if task is not None else "",
            blocked_for=self._host.monotonic() - asked,
            stack=thread.stack(),
        )
