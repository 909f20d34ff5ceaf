# SPDX-License-Identifier: Apache-2.0
"""The reconciles that called the world outside, and so could not be planned."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from controller_runtime.isolation.calls import OutwardCall
from controller_runtime.planning.overlay import Work, current_work

BESIDE = Work("beside all reconciles")
"""Stands for threads that call the world outside while nothing is reconciled, such as those of a tracker of errors."""


class Refusals:
    """Records the refused outside calls of each reconcile.

    For a call on a thread of a pool, the reconcile is unknown, so it is recorded for every reconcile that runs. An
    object can thus be listed as not planned although it was; it is never listed as planned although it was not, if its
    reconcile waits for the call.

    Threads: any, also threads that were not started by a host. There is no lock, because each step is one operation on
        a dict, with or without the GIL.
    """

    def __init__(self) -> None:
        self._running: dict[Work, None] = {}
        self._calls: dict[Work, OutwardCall] = {}

    @contextlib.contextmanager
    def running(self, work: Work) -> Iterator[None]:
        """Return a context manager: calls inside it, and those of threads of no known reconcile, count for `work`."""
        token = current_work.set(work)
        self._running[work] = None
        try:
            yield
        finally:
            self._running.pop(work, None)
            current_work.reset(token)

    def note(self, call: OutwardCall) -> None:
        """Record a refused call; only the first one of each reconcile is kept."""
        work = current_work.get()
        for each in [work] if work is not None else [*self._running] or [BESIDE]:
            self._calls.setdefault(each, call)

    def of(self, work: Work) -> OutwardCall | None:
        """Return the first refused call of a reconcile; None if there was none."""
        return self._calls.get(work)

    def all(self) -> list[tuple[Work, OutwardCall]]:
        """Return the first refused call of each reconcile, in the order in which they came."""
        return [*self._calls.copy().items()]
