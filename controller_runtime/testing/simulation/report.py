# SPDX-License-Identifier: Apache-2.0
"""What a hang says: who stands where and until when, the last steps, the stack of who is stuck."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable

from controller_runtime.testing.simulation.tasks import State, Task
from controller_runtime.testing.simulation.timeline import SECOND


def hang_report(what: str, now: int, tasks: Iterable[Task], steps: Iterable[str]) -> str:
    """A page for a person: `what`, one line a task, then the last steps."""
    lines = [f"{what} at {now / SECOND:.9f} s of virtual time"]
    lines += [f"  {_standing(task, now)}" for task in tasks]
    lines += ["last steps (time, thread, where it goes on):", *(f"  {step}" for step in steps)]
    return "\n".join(lines)


def stack_of(task: Task) -> str:
    """Where the thread of `task` is at this moment, innermost last."""
    frame = sys._current_frames().get(task.ident)
    return "".join(traceback.format_stack(frame)) if frame is not None else "(its thread has ended)\n"


def _standing(task: Task, now: int) -> str:
    match task.state:
        case State.PARKED:
            until = "for ever" if task.due is None else f"for {(task.due - now) / SECOND:.9f} s more"
            text = f"{task.name} waits on {task.label!r} {until}"
        case state:
            text = f"{task.name} is {state.value}, at {task.label!r}"
    if task.machine.dead:
        text += ", dead"
    elif max(task.frozen_until, task.machine.frozen_until) > now:
        text += ", paused"
    held = ", ".join(str(lock) for lock in task.held)
    return f"{text}, holds {held}" if held else text
