# SPDX-License-Identifier: Apache-2.0
"""Ends the process of a command, even if threads do not end: Python itself waits for all that are not daemons."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from apimachinery.stop import Stop
from apimachinery.system import SystemHost, joins_threads, stacks_of, thread_names

EXIT_GRACE = 5.0
"""Seconds for which the process waits for other threads than the manager's, such as those of a pool. The number is
ours.
"""


def end_at_once(status: int) -> NoReturn:
    """End the process without waiting for its threads, some of which had time to end before."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # its reader is gone, or it is closed
            stream.flush()
    os._exit(status)


def leave(status: int, before: Sequence[str], failed: int) -> NoReturn:
    """Raise `SystemExit` with `status`, and make sure that the process then ends, even if some threads do not.

    Threads that did not exist before the command get `EXIT_GRACE` seconds to end, are named in a message if they do
    not, and then the process ends without them. If a caller in this process catches the exit, the process continues.

    Args:
        status: The exit status.
        before: The names of the threads that existed before the command; they are not waited for.
        failed: The exit status if other threads are still running then, and `status` is 0.
    """
    if left := _left(before):
        SystemHost().spawn("exit", partial(_insist, left, status or failed), daemon=True)
    sys.exit(status)


def _left(before: Sequence[str]) -> list[str]:
    return [name for name in thread_names(daemons=False) if name not in before]


def _insist(left: Sequence[str], status: int) -> None:
    Stop(SystemHost()).wait(EXIT_GRACE)
    names = [name for name in thread_names(daemons=False) if name in left]
    if names and joins_threads():
        text = f"ending, though threads still run {EXIT_GRACE:g} s after the program: {', '.join(names)}"
        sys.stderr.write(f"{text}\n{stacks_of(names)}\n")
        end_at_once(status)
