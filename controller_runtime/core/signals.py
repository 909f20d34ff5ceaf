# SPDX-License-Identifier: Apache-2.0
"""Signals that ask a program to stop.

Python runs a signal's handler on the main thread, between any two instructions, even inside
a section that holds a lock. A handler that calls `Stop.set` can therefore wait for a lock
that its own thread holds, forever. The handlers here only put the signal's number into a
queue whose `put` may interrupt itself; a thread takes it out and acts.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from types import FrameType
from typing import Any

from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop, spawn

log = get_logger(__name__)


@contextlib.contextmanager
def stop_on_signals(host: Host, stop: Stop, numbers: Iterable[int] = (signal.SIGINT, signal.SIGTERM)) -> Iterator[None]:
    """Set `stop` at the first of these signals, while the `with` block lasts; then put the old handlers back.

    A second signal ends the process at once, with status 1, for the program may hang; SIGHUP is the exception,
    for a closed terminal may send it more than once. The callbacks of `stop` run on a thread of their own.

    A handler that other code installs inside the block replaces the one installed here, and stays. An event loop
    that runs inside gets the other signals as ever. Of two blocks the inner one gets the signals. A child that is
    forked without `exec` treats the signals as they were treated before the block.

    Threads: the main thread only.

    Args:
        host: Must be the real machine.
        stop: What to set.
        numbers: The signals. One that was ignored before is not ignored inside.

    Raises:
        UsageError: This is not the main thread.
    """
    asked = StopRequests(host, stop)
    with contextlib.closing(asked), heard_signals(host, numbers, asked.hear):
        yield


class StopRequests:
    """Decides what each signal that asks to stop does. Threads: one calls `hear`; `close` from any.

    Args:
        host: What it runs on.
        stop: Set by the first signal.
    """

    def __init__(self, host: Host, stop: Stop) -> None:
        self._host = host
        self._stop = stop
        self._setting: Thread | None = None

    def hear(self, number: int) -> None:
        """Set the stop at the first signal, and end the process at a later one that is not SIGHUP."""
        if self._setting is None:
            log.info("stopping", signal=signal.Signals(number).name)
            # On a thread of its own, so that a callback that hangs does not keep the next signal from being heard.
            self._setting = spawn(self._host, self._stop, "stopping", self._stop.set)
        elif number != signal.SIGHUP:
            with contextlib.suppress(OSError):
                os.write(2, b"asked to stop twice: ending at once\n")  # `sys.stderr` has a lock, which may be held
            os._exit(1)

    def close(self) -> None:
        """Wait until the callbacks of the stop have run, if it was set here."""
        if self._setting is not None:
            self._setting.join_until(None)


@contextlib.contextmanager
def heard_signals(host: Host, numbers: Iterable[int], hear: Callable[[int], None]) -> Iterator[None]:
    """Call `hear` on a thread with the number of each of these signals, while the `with` block lasts.

    See `stop_on_signals` for what becomes of other handlers.

    Args:
        host: Must be the real machine.
        numbers: The signals.
        hear: Must be quick and must not raise: the next signal waits for it.

    Raises:
        UsageError: This is not the main thread.
    """
    arrived: SimpleQueue[int | None] = SimpleQueue()  # its `put` may interrupt itself on the same thread
    process = os.getpid()
    previous: dict[int, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        if os.getpid() == process:
            arrived.put(number)
        else:  # a forked child has no thread that would hear of it
            signal.signal(number, previous[number])
            os.kill(os.getpid(), number)

    def read() -> None:
        while (number := arrived.get()) is not None:
            hear(number)

    def restore() -> None:
        for number, handler in previous.items():
            if signal.getsignal(number) is note:  # else other code has taken the signal over
                signal.signal(number, handler)

    with contextlib.ExitStack() as stack:
        stack.callback(host.spawn("signals", read).join_until, None)
        stack.callback(arrived.put, None)
        stack.callback(restore)
        _install(numbers, note, previous)
        yield


def _install(
    numbers: Iterable[int], handler: Callable[[int, FrameType | None], None], previous: dict[int, Any]
) -> None:
    """Install `handler`, and note in `previous` what to put back; the default for a handler that C code installed."""
    for number in numbers:
        previous[number] = signal.getsignal(number) or signal.SIG_DFL
        try:
            signal.signal(number, handler)
        except ValueError as error:
            raise UsageError("signals are handled on the main thread only") from error
