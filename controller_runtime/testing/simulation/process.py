# SPDX-License-Identifier: Apache-2.0
"""Changes to the real process during a simulation, for speed and determinism; they do not affect the schedule."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator


@contextlib.contextmanager
def pinned() -> Iterator[None]:
    """Keep this thread, and those that it starts, on one CPU within the `with` block.

    Switching between threads is then three times cheaper. Threads that are started in the block keep the one CPU after
    it. Nothing happens on systems without `os.sched_setaffinity`.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[process_number() % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def process_number() -> int:
    """Return the number of this pytest-xdist worker, or the process id outside of one; `pinned` chooses the CPU by it.

    With process ids alone, three workers on two CPUs would choose the same CPU in one of four runs.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    return int(worker) if worker.isdecimal() else os.getpid()


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Disable the cyclic garbage collector within the `with` block: the time at which it runs, and calls `__del__`,
    depends on Python's version.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
