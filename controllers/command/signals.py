# SPDX-License-Identifier: Apache-2.0
"""Signals: the first one stops the program, a second one ends the process at once, and SIGUSR1 writes a report.

Python runs a signal's handler on the main thread, between any two instructions, even
inside a section that holds a lock. So the handler does nothing, and a thread reads the
signals' numbers from a pipe instead.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator

import attrs

from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.core.system import stacks

log = get_logger(__name__)

KILLING = (signal.SIGINT, signal.SIGTERM)
"""Signals that end the process at once when it is stopping already."""
STOPPING = (*KILLING, signal.SIGHUP)
REPORTING = signal.SIGUSR1
_END = b"\0"  # ends the reading thread; no signal has the number zero


@attrs.define
class Signals:
    """What SIGUSR1 reports; it may be replaced at any time.

    Attributes:
        report: Returns the text to write to standard error below the stacks of all threads; called on
            the thread that reads the signals.
    """

    report: Callable[[], str]


@contextlib.contextmanager
def handled_signals(host: Host, stop: Stop) -> Iterator[Signals]:
    """Handle signals inside the block: SIGINT, SIGTERM and SIGHUP set `stop`.

    A second SIGINT or SIGTERM ends the process at once, with status 1. A second SIGHUP does not,
    because a closed terminal may send several; under `nohup`, SIGHUP stays ignored. SIGUSR1
    writes every thread's stack and a report to standard error.

    Threads: the main thread only, once at a time.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # `set_wakeup_fd` requires it
    handled = [*KILLING, REPORTING]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup sets SIG_IGN
        handled.append(signal.SIGHUP)
    previous = {number: signal.signal(number, lambda *_: None) for number in handled}
    previous_fd = signal.set_wakeup_fd(writer)
    signals = Signals(lambda: "nothing has been started yet")

    def read() -> None:
        is_stopping = False
        while (byte := os.read(reader, 1)) != _END:
            if byte[0] == REPORTING:
                sys.stderr.write(f"{stacks()}\n{signals.report()}\n")
                sys.stderr.flush()
            if byte[0] not in STOPPING:
                continue
            if is_stopping and byte[0] in KILLING:
                sys.stderr.write("asked to stop twice: ending at once\n")
                sys.stderr.flush()
                os._exit(1)
            is_stopping = True
            log.info("stopping", signal=signal.Signals(byte[0]).name)
            stop.set()

    thread = host.spawn("signals", read)
    try:
        yield signals
    finally:
        signal.set_wakeup_fd(previous_fd)
        for number, handler in previous.items():
            signal.signal(number, handler)
        os.write(writer, _END)
        thread.join_until(None)
        os.close(reader)
        os.close(writer)
