# SPDX-License-Identifier: Apache-2.0
"""Signals: the first one that asks to stop asks, the second insists; SIGUSR1 asks what is going on.

Python runs a signal's handler on the main thread, between any two instructions, even
inside a section that holds a lock; so the handler does nothing, and a thread reads the
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

INSISTING = (signal.SIGINT, signal.SIGTERM)
STOPPING = (*INSISTING, signal.SIGHUP)
ASKING = signal.SIGUSR1
_END = b"\0"  # no signal has the number zero


@attrs.define
class Signals:
    """What signals do.

    Attributes:
        report: What SIGUSR1 writes to standard error, below the stacks of all threads; called on
            the thread that reads the signals.
    """

    report: Callable[[], str]


@contextlib.contextmanager
def handled_signals(host: Host, stop: Stop) -> Iterator[Signals]:
    """Inside, SIGINT, SIGTERM and SIGHUP set `stop`; a second SIGINT or SIGTERM ends the process at once, status 1.

    A closed terminal may say SIGHUP more than once; under `nohup` it is not heeded.
    SIGUSR1 writes every thread's stack and a report to standard error.

    Threads: the main thread only, once at a time.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    heeded = [*INSISTING, ASKING]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        heeded.append(signal.SIGHUP)
    previous = {number: signal.signal(number, lambda *_: None) for number in heeded}
    previous_fd = signal.set_wakeup_fd(writer)
    signals = Signals(lambda: "nothing has been started yet")

    def read() -> None:
        asked = False
        while (byte := os.read(reader, 1)) != _END:
            if byte[0] == ASKING:
                sys.stderr.write(f"{stacks()}\n{signals.report()}\n")
                sys.stderr.flush()
            if byte[0] not in STOPPING:
                continue
            if asked and byte[0] in INSISTING:
                sys.stderr.write("asked to stop twice: ending at once\n")
                sys.stderr.flush()
                os._exit(1)
            asked = True
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
