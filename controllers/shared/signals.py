# SPDX-License-Identifier: Apache-2.0
"""Signals: the first one that asks to stop asks, the second insists; SIGUSR1 asks what is going on."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator

import attrs

from controller_runtime.core.host import Host
from controller_runtime.core.signals import StopRequests, heard_signals
from controller_runtime.core.stop import Stop
from controller_runtime.core.system import stacks

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPORTING = signal.SIGUSR1


@attrs.define
class Signals:
    """What signals do.

    Attributes:
        report: What SIGUSR1 writes to standard error, below the stacks of all threads; called on
            a thread of its own, so that it may wait for a lock.
    """

    report: Callable[[], str]


@contextlib.contextmanager
def handled_signals(host: Host, stop: Stop) -> Iterator[Signals]:
    """Inside, SIGINT, SIGTERM and SIGHUP set `stop`; a second SIGINT or SIGTERM ends the process at once, status 1.

    A closed terminal may say SIGHUP more than once; under `nohup` it is not handled.
    SIGUSR1 writes every thread's stack and a report to standard error.

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
            asked.hear(number)

    with contextlib.closing(StopRequests(host, stop)) as asked, heard_signals(host, handled, hear):
        yield signals
