# SPDX-License-Identifier: Apache-2.0
"""The steps of the running reconcile: what it reads and writes, for people who ask afterwards what it did.

The steps are in a context variable, so that no signature has to carry them. Without a story that is being recorded a
read costs one look at that variable.
"""

from __future__ import annotations

import contextvars
from typing import TypeAlias

MOST_STEPS = 16
"""The most steps of one reconcile that are kept. Reads take at most half of them, so that there is room for writes."""

# A verb, what it was done to (formatted only when it is shown), where, and how it ended. Plain tuples, because each
# read of a cache makes one.
Step: TypeAlias = tuple[str, object, object, object]


class Steps:
    """The first steps (reads and writes) of one reconcile; later ones are only counted.

    Threads: those of its reconcile. A step of another thread that comes after `end_steps` is lost.
    """

    __slots__ = ("kept", "left_out")

    def __init__(self) -> None:
        self.kept: list[Step] = []
        self.left_out = 0

    def read(self, step: Step) -> None:
        """Keep a step that read something, unless half of `MOST_STEPS` are kept already."""
        if len(self.kept) < MOST_STEPS // 2:
            self.kept.append(step)
        else:
            self.left_out += 1

    def write(self, step: Step) -> None:
        """Keep a step that changed something, unless `MOST_STEPS` are kept already."""
        if len(self.kept) < MOST_STEPS:
            self.kept.append(step)
        else:
            self.left_out += 1


_current: contextvars.ContextVar[Steps | None] = contextvars.ContextVar("steps", default=None)

current_steps = _current.get
"""Returns the steps of the reconcile that calls this; None if they are not recorded, or outside of a reconcile."""


def begin_steps() -> None:
    """Start to record the reads and writes of a reconcile: those of this thread or coroutine (the current context)."""
    _current.set(Steps())


def end_steps() -> Steps | None:
    """Stop the recording, and return the steps since `begin_steps`; None if nothing was recorded."""
    steps = _current.get()
    if steps is not None:
        _current.set(None)
    return steps
