# SPDX-License-Identifier: Apache-2.0
"""The stacks of suspended coroutines as text.

`asyncio.Task.get_stack` returns one frame of a suspended task, the outermost, which is never the place where it waits.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any


def stack_of(task: asyncio.Task[Any]) -> str:
    """Return the current stack of a task as text, the innermost call last; empty once the task has ended.

    Threads: any. If the task is running on another thread, the stack may be incomplete.
    """
    frames = ((frame, frame.f_lineno) for frame in _frames(task.get_coro()))
    return "".join(traceback.StackSummary.extract(frames).format())


def stacks_of(loop: asyncio.AbstractEventLoop) -> str:
    """Return the stacks of all tasks of a loop that have not ended, each below the task's name. Threads: any."""
    named = sorted((task.get_name(), stack_of(task)) for task in asyncio.all_tasks(loop))
    return "\n".join(f"coroutine {name}\n{stack}" for name, stack in named)


def _frames(awaited: object) -> Iterator[FrameType]:
    """Yield the frame of a coroutine, then that of the one which it awaits, and so on.

    Coroutines, generators and asynchronous generators call the same two things by different names.
    """
    while awaited is not None:
        frame, following = None, None
        for prefix, awaits in (("cr", "cr_await"), ("gi", "gi_yieldfrom"), ("ag", "ag_await")):
            if hasattr(awaited, awaits):
                frame, following = getattr(awaited, f"{prefix}_frame"), getattr(awaited, awaits)
        if frame is not None:
            yield frame
        awaited = following
