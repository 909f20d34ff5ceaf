# SPDX-License-Identifier: Apache-2.0
"""Stopping in two stages: take no more work; then give up the running work.

One `Stop` belongs to one process, or to one group of its threads.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable

from apimachinery.errors import Cancelled
from apimachinery.host import Host, Thread
from apimachinery.log import get_logger
from apimachinery.plain_functions import called, plain

log = get_logger(__name__)

_CALLBACK = "the callback of a stop"


class Stage(enum.IntEnum):
    """The stage of a stop, which can only increase."""

    RUNNING = 0
    STOPPING = 1
    CANCELLED = 2


class Stop:
    """A request to stop. It is made once, and any number of threads can wait for it.

    The callbacks run on the thread that makes the request, in the order in which they were added. No lock is held
    meanwhile, so they may acquire locks. If a callback raises, the others still run.

    Threads: any, for every method, but not from a signal handler. Such a handler can interrupt a method of this class
    on the same thread, and would then wait forever for the lock of that method. Use `stop_on_signals`.
    """

    def __init__(self, host: Host, label: str = "stop") -> None:
        self._host = host
        # Guards the four fields below.
        self._condition = host.condition(label)
        self._stage = Stage.RUNNING
        self._callbacks: dict[Stage, dict[int, Callable[[], None]]] = {Stage.STOPPING: {}, Stage.CANCELLED: {}}
        self._failure: BaseException | None = None
        self._next_id = 0

    @property
    def stage(self) -> Stage:
        """The current stage: running, stopping or cancelled."""
        return self._stage  # without the lock, since it only moves forward

    @property
    def failure(self) -> BaseException | None:
        """The exception of the first thread that failed; None if no thread has failed."""
        return self._failure  # one reference, set once

    def is_set(self) -> bool:
        """Return True once no more work may be started."""
        return self._stage is not Stage.RUNNING  # without the lock, since it only moves forward

    def is_cancelled(self) -> bool:
        """Return True once even running work must be given up."""
        return self._stage is Stage.CANCELLED  # without the lock, since it only moves forward

    def raise_if_cancelled(self) -> None:
        """Raise `Cancelled` once running work must be given up. Long reconciles call it between two steps."""
        if self._stage is Stage.CANCELLED:  # without the lock, since it only moves forward
            raise Cancelled("the process stops and its grace has run out")

    def set(self) -> None:
        """Request that no more work is started. Idempotent."""
        self._advance(Stage.STOPPING, None)

    def cancel(self) -> None:
        """Request that running work is given up; implies `set`. Idempotent."""
        self._advance(Stage.CANCELLED, None)

    def fail(self, failure: BaseException, stage: Stage = Stage.STOPPING) -> None:
        """Go to `stage` because of `failure`. Only the first failure is kept, because later ones may be its
        consequences.
        """
        self._advance(stage, failure)

    def wait_until(self, deadline: float | None, stage: Stage = Stage.STOPPING) -> bool:
        """Wait until `stage` is reached or `deadline` passes (seconds of `Clock.monotonic`; None waits forever).

        Return whether the stage was reached.
        """
        with self._condition:
            while self._stage < stage:
                if deadline is not None and self._host.monotonic() >= deadline:
                    return False
                self._condition.wait_until(deadline)
        return True

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds`, or until the stop is set. Return whether the stop is set."""
        return self.wait_until(self._host.monotonic() + seconds)

    def on_set(self, callback: Callable[[], None], stage: Stage = Stage.STOPPING) -> Callable[[], None]:
        """Call `callback` once when `stage` is reached; if it has been reached already, call it immediately on this
        thread.

        Returns:
            A function that removes the callback; it does nothing once the callback has been called.

        Raises:
            UsageError: The callback is an `async def`, or returned an awaitable.
        """
        plain(_CALLBACK, callback)
        with self._condition:
            reached = self._stage >= stage
            key = self._next_id
            self._next_id += 1
            if not reached:
                self._callbacks[stage][key] = callback
        if reached:
            called(_CALLBACK, callback)

        def remove() -> None:
            with self._condition:
                self._callbacks[stage].pop(key, None)

        return remove

    def _advance(self, stage: Stage, failure: BaseException | None) -> None:
        due: list[Callable[[], None]] = []
        with self._condition:
            if failure is not None and self._failure is None:
                self._failure = failure
            for passed in (Stage.STOPPING, Stage.CANCELLED):
                if self._stage < passed <= stage:
                    self._stage = passed
                    due += self._callbacks[passed].values()
                    self._callbacks[passed].clear()
            self._condition.notify_all()
        # An exit stack calls all of them even if one raises, and raises that error at the end.
        with contextlib.ExitStack() as stack:
            for callback in reversed(due):
                stack.callback(called, _CALLBACK, callback)


def spawn(host: Host, stop: Stop, name: str, target: Callable[[], None]) -> Thread:
    """Start a thread whose failure sets `stop`, and return the thread.

    An uncaught exception of `target` is logged with its traceback and becomes `stop.failure`. The owner of `stop`
    raises it after stopping everything, as `Manager.run` does.

    Args:
        host: The host that starts the thread.
        stop: The stop that is set when `target` fails.
        name: The thread's name, in logs and stacks.
        target: The function to run; it should return soon after `stop` is set.

    Raises:
        UsageError: `target` is an `async def`.
    """
    what = f"the target of thread {name}"
    plain(what, target)

    def run() -> None:
        try:
            called(what, target)
        except (
            Exception,
            SystemExit,
        ) as error:  # a thread ends here; without SystemExit, `sys.exit` would end it unnoticed
            log.exception("thread failed, stopping", thread=name)
            stop.fail(error)

    return host.spawn(name, run)
