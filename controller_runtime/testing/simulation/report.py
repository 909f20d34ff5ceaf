# SPDX-License-Identifier: Apache-2.0
"""Formats the report of a hang: the state of each thread, the last steps, and the stack of a stuck thread."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable

from controller_runtime.testing.simulation.tasks import Task, TaskState
from controller_runtime.testing.simulation.timeline import SECOND


def hang_report(what: str, now: int, tasks: Iterable[Task], steps: Iterable[str]) -> str:
    """Return the text about a hang: `what`, a line for each task, then the last steps.

    Args:
        what: The kind of hang.
        now: The time, in nanoseconds of the simulation.
        tasks: All threads of the simulation that have not ended.
        steps: The last lines of the trace.
    """
    lines = [f"{what} at {now / SECOND:.9f} s of virtual time"]
    lines += [f"  {_state_of(task, now)}" for task in tasks]
    lines += ["last steps (nanosecond, thread, where it continues):", *(f"  {step.rstrip()}" for step in steps)]
    return "\n".join(lines)


def stuck_outside(task: Task, seconds: float) -> str:
    """Return a text about a task that has been running for `seconds` of real time without a step."""
    return (
        f"{task.name} is stuck outside the simulation: it has not come back for {seconds:g} s of real time. "
        "It waits for something real, such as a socket, a bare lock or time.sleep, or it loops"
    )


def stack_of(task: Task) -> str:
    """Return the present stack of the thread of `task`, innermost frame last."""
    frame = sys._current_frames().get(task.thread.ident or 0)
    return "".join(traceback.format_stack(frame)) if frame is not None else "(its thread has ended)\n"


def _state_of(task: Task, now: int) -> str:
    if task.wants is not None:
        text = f"{task.name} waits for the lock {task.wants}"
    elif task.state is TaskState.PARKED:
        until = f"for {(task.timer.when - now) / SECOND:.9f} s more" if task.timer is not None else "without a deadline"
        text = f"{task.name} waits on {task.label!r} {until}"
    else:
        text = f"{task.name} is {task.state.value} at {task.label!r}"
    if task.held:
        text += f", holds {', '.join(str(lock) for lock in task.held)}"
    if task.machine.dead:
        return f"{text}, dead"
    return f"{text}, paused" if max(task.frozen_until, task.machine.frozen_until) > now else text
