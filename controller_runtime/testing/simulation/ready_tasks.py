# SPDX-License-Identifier: Apache-2.0
"""The tasks that are ready to run; a task is one thread of the simulation, and some may be held back by a pause."""

from __future__ import annotations

from controller_runtime.testing.simulation.strategies import Choose
from controller_runtime.testing.simulation.tasks import Task
from controller_runtime.testing.simulation.timeline import VirtualTimeline


class ReadyTasks:
    """The tasks that wait only for their turn to run.

    Args:
        timeline: The simulation's time, by which pauses end.
        choose: Returns the index of the task to run next.
    """

    def __init__(self, timeline: VirtualTimeline, choose: Choose) -> None:
        self._timeline = timeline
        self._choose = choose
        # A task that is ready is in exactly one of the two.
        self._able: list[Task] = []
        self._frozen: list[Task] = []

    def __bool__(self) -> bool:
        return bool(self._able)

    @property
    def has_frozen(self) -> bool:
        """True if a task could run if it were not paused."""
        return bool(self._frozen)

    def add(self, task: Task) -> None:
        """Add a task that is ready to run; it is held back while a pause of the task or its machine lasts."""
        (self._frozen if self.is_frozen(task) else self._able).append(task)

    def choose(self) -> Task:
        """Choose the task to run next, remove it and return it."""
        return self._able.pop(self._choose(self._able) if len(self._able) > 1 else 0)

    def take(self, task: Task) -> Task:
        """Remove `task` and return it, without a choice."""
        self._able.remove(task)
        return task

    def sort(self) -> None:
        """Separate the tasks that can run from the paused ones again; to be called when a pause begins or ends."""
        tasks = self._able + self._frozen
        self._able = [task for task in tasks if not self.is_frozen(task)]
        self._frozen = [task for task in tasks if self.is_frozen(task)]

    def is_frozen(self, task: Task) -> bool:
        """Return whether `task` or its machine is paused. A dead machine never is, because its threads have to
        unwind.
        """
        until = max(task.frozen_until, task.machine.frozen_until)
        return until > self._timeline.now and not task.machine.dead
