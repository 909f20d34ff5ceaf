# SPDX-License-Identifier: Apache-2.0
"""The tasks that are ready to run, some of which a pause may hold back."""

from __future__ import annotations

from controller_runtime.testing.simulation.strategies import Choose
from controller_runtime.testing.simulation.tasks import Task
from controller_runtime.testing.simulation.timeline import VirtualTimeline


class ReadyTasks:
    """The tasks that wait for nothing but their turn to run.

    Args:
        timeline: The time, by which pauses end.
        choose: Chooses the next task.
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
        """True if a task could run were it not for a pause."""
        return bool(self._frozen)

    def add(self, task: Task) -> None:
        """Add a task that is ready to run; it is held back while a pause of the task or its machine lasts."""
        (self._frozen if self.is_frozen(task) else self._able).append(task)

    def choose(self) -> Task:
        """Remove and return the task to run next."""
        return self._able.pop(self._choose(self._able) if len(self._able) > 1 else 0)

    def take(self, task: Task) -> Task:
        """Remove and return `task`, without a choice."""
        self._able.remove(task)
        return task

    def sort(self) -> None:
        """Divide the tasks again into those that can run and those that are paused, after a pause began or ended."""
        tasks = self._able + self._frozen
        self._able = [task for task in tasks if not self.is_frozen(task)]
        self._frozen = [task for task in tasks if self.is_frozen(task)]

    def is_frozen(self, task: Task) -> bool:
        """Return whether `task` or its machine is paused. Dead machines are not: their threads have to unwind."""
        until = max(task.frozen_until, task.machine.frozen_until)
        return until > self._timeline.now and not task.machine.dead
