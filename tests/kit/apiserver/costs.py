# SPDX-License-Identifier: Apache-2.0
"""Measures of the cost of work: calls, CPU time and comparisons."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls, including those in C."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds of CPU time that `work` takes on this thread: the shortest of three runs."""
    taken = []
    for _ in range(3):
        started = time.thread_time()
        work()
        taken.append(time.thread_time() - started)
    return min(taken)


class Compared(str):
    """A string that counts how often it is compared."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()
