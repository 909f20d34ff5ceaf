# SPDX-License-Identifier: Apache-2.0
"""Those who could run: who is chosen next, and who is kept from it by a pause."""

from __future__ import annotations

from controller_runtime.testing.simulation.strategies import Choose
from controller_runtime.testing.simulation.tasks import Task
from controller_runtime.testing.simulation.timeline import Timeline


class Runnable:
    """The tasks that wait for nothing but the baton."""

    def __init__(self, timeline: Timeline, choose: Choose) -> None:
        self._timeline = timeline
        self._choose = choose
        # A task that is ready is in exactly one of the two.
        self._able: list[Task] = []
        self._frozen: list[Task] = []

    def __bool__(self) -> bool:
        return bool(self._able)

    @property
    def anybody_frozen(self) -> bool:
        """True if somebody could run, but for a pause."""
        return bool(self._frozen)

    def add(self, task: Task) -> None:
        """`task` waits for nothing any more."""
        (self._frozen if self.is_frozen(task) else self._able).append(task)

    def choose(self) -> Task:
        """Take out the task to run next."""
        return self._able.pop(self._choose(self._able) if len(self._able) > 1 else 0)

    def take(self, task: Task) -> Task:
        """Take out `task`, whoever else could run."""
        self._able.remove(task)
        return task

    def sort(self) -> None:
        """Pauses have begun or ended: see anew who may run."""
        tasks = self._able + self._frozen
        self._able = [task for task in tasks if not self.is_frozen(task)]
        self._frozen = [task for task in tasks if self.is_frozen(task)]

    def is_frozen(self, task: Task) -> bool:
        """True while a pause of `task`, or of its machine, lasts; the dead are past pauses."""
        until = max(task.frozen_until, task.machine.frozen_until)
        return until > self._timeline.now and not task.machine.dead
