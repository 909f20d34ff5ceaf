# SPDX-License-Identifier: Apache-2.0
"""Signals of the commands: one to stop in order, a second one to end at once, and SIGUSR1 for a report."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator

import attrs

from apimachinery.host import Host
from apimachinery.stop import Stop
from apimachinery.system import stacks
from controller_runtime.core.signals import StopRequests, signals_received

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPORTING = signal.SIGUSR1


@attrs.define
class Signals:
    """The part of signal handling that a command can change while it runs.

    Attributes:
        report: Returns the text that SIGUSR1 writes to standard error, below the stacks of all threads. It is called on
            a separate thread, so that it may wait for a lock.
    """

    report: Callable[[], str]


@contextlib.contextmanager
def handled_signals(host: Host, stop: Stop) -> Iterator[Signals]:
    """Return a context manager: inside it, SIGINT, SIGTERM and SIGHUP set `stop`, and SIGUSR1 writes a report.

    A second SIGINT or SIGTERM ends the process at once, with status 1. A second SIGHUP is ignored, because a terminal
    that closes may send several; under `nohup`, SIGHUP stays ignored.

    Threads: the main thread only, once at a time.
    """
    handled = [*STOPPING, REPORTING]
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        handled.remove(signal.SIGHUP)
    signals = Signals(lambda: "nothing has been started yet")

    def write_report() -> None:
        sys.stderr.write(f"{stacks()}\n{signals.report()}\n")
        sys.stderr.flush()

    def hear(number: int) -> None:
        if number == REPORTING:
            host.spawn("report", write_report)
        else:
            asked.received(number)

    with contextlib.closing(StopRequests(host, stop)) as asked, signals_received(host, handled, hear):
        yield signals
