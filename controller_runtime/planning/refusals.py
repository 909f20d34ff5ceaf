# SPDX-License-Identifier: Apache-2.0
"""Which reconciles called the world outside, and so could not be planned."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from controller_runtime.isolation.calls import Call
from controller_runtime.planning.overlay import Work, current_work

BESIDE = Work("beside all reconciles")
"""Stands for threads that call the world outside while nothing is reconciled, such as those of a tracker of errors."""


class Refusals:
    """Notes the refused calls of each reconcile.

    A thread of a pool does not know whose work it does. Its calls count for every reconcile that runs: an object too
    many is listed as not planned, and none is listed as planned that was not.

    Threads: any, also those that no host has started. There is no lock, because each step is one operation on a dict,
    or a copy of it as a whole, with or without the GIL.
    """

    def __init__(self) -> None:
        self._running: dict[Work, None] = {}
        self._calls: dict[Work, Call] = {}

    @contextlib.contextmanager
    def running(self, work: Work) -> Iterator[None]:
        """Count calls in this context, and those of threads without one, for `work`."""
        token = current_work.set(work)
        self._running[work] = None
        try:
            yield
        finally:
            self._running.pop(work, None)
            current_work.reset(token)

    def note(self, call: Call) -> None:
        """Note a call that is refused; the first one of each reconcile is kept."""
        work = current_work.get()
        for each in [work] if work is not None else [*self._running] or [BESIDE]:
            self._calls.setdefault(each, call)

    def of(self, work: Work) -> Call | None:
        """Return the first refused call of a reconcile; None if there was none."""
        return self._calls.get(work)

    def all(self) -> list[tuple[Work, Call]]:
        """Return the first refused call of each reconcile, in the order in which they came."""
        return [*self._calls.copy().items()]
