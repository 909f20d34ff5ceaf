# SPDX-License-Identifier: Apache-2.0
"""Stopping, in two stages: take no more work; then give up the work in hand.

One `Stop` belongs to one program (or one group of threads of it). Whoever sets it runs
the callbacks, after the lock is released, so that a callback may take locks of its own.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable

from controller_runtime.core.errors import Cancelled
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.log import get_logger

log = get_logger(__name__)


class Stage(enum.IntEnum):
    """How far a stop has come; it never goes back."""

    RUNNING = 0
    STOPPING = 1
    CANCELLED = 2


class Stop:
    """A request to stop, made once, seen by everybody.

    Threads: any, for every method, but not from a signal's handler: it may interrupt a method on
    its own thread, and would wait for that method's lock forever. `core.signals.stop_on_signals`
    is for that. Callbacks run on the thread that makes the request, in the order in which they
    were added, or at once if it has been made already. One that raises keeps none of the
    others from running.
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
        """How far the stop has come."""
        return self._stage

    @property
    def failure(self) -> BaseException | None:
        """What the first failing thread died of, if one did."""
        return self._failure

    def is_set(self) -> bool:
        """True once no more work may be taken."""
        return self._stage is not Stage.RUNNING

    def is_cancelled(self) -> bool:
        """True once the work in hand must be given up."""
        return self._stage is Stage.CANCELLED

    def raise_if_cancelled(self) -> None:
        """Raise `Cancelled` once the work in hand must be given up; for long reconciles, between steps."""
        if self._stage is Stage.CANCELLED:
            raise Cancelled("the program stops and its grace has run out")

    def set(self) -> None:
        """Ask everybody to take no more work. Idempotent."""
        self._advance(Stage.STOPPING, None)

    def cancel(self) -> None:
        """Ask everybody to give up the work in hand as well. Idempotent; implies `set`."""
        self._advance(Stage.CANCELLED, None)

    def fail(self, failure: BaseException, stage: Stage = Stage.STOPPING) -> None:
        """Go to `stage` because of `failure`; the first one is kept."""
        self._advance(stage, failure)

    def wait_until(self, deadline: float | None, stage: Stage = Stage.STOPPING) -> bool:
        """Wait until `stage` is reached; True if it has been by `deadline` (monotonic seconds, None: for ever)."""
        with self._condition:
            while self._stage < stage:
                if deadline is not None and self._host.monotonic() >= deadline:
                    return False
                self._condition.wait_until(deadline)
        return True

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds`, or less if asked to stop; True if so."""
        return self.wait_until(self._host.monotonic() + seconds)

    def on_set(self, callback: Callable[[], None], stage: Stage = Stage.STOPPING) -> Callable[[], None]:
        """Call `callback` once when `stage` is reached; at once if it has been.

        Returns:
            A function that takes the callback back; harmless afterwards.
        """
        with self._condition:
            reached = self._stage >= stage
            key = self._next_id
            self._next_id += 1
            if not reached:
                self._callbacks[stage][key] = callback
        if reached:
            callback()

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
        # Every one runs, even if another raises; what was raised comes out at the end.
        with contextlib.ExitStack() as stack:
            for callback in reversed(due):
                stack.callback(callback)


def spawn(host: Host, stop: Stop, name: str, target: Callable[[], None]) -> Thread:
    """Start a thread whose failure stops its program.

    An exception that leaves `target` is logged with its traceback and becomes
    `stop.failure`, which whoever waits for `stop` raises. This is one of the two
    places of the house that catch everything; the other one ends a reconcile.
    """

    def run() -> None:
        try:
            target()
        except (Exception, SystemExit) as error:  # a thread ends here; `sys.exit` would end it in silence
            log.exception("thread failed, stopping", thread=name)
            stop.fail(error)

    return host.spawn(name, run)
