# SPDX-License-Identifier: Apache-2.0
"""The locks, conditions and threads of a simulated machine.

They keep the contracts of `apimachinery.host` by means of the scheduler, and raise errors for mistakes that would stay
unnoticed in production, such as a wait with a lock held.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from controller_runtime.testing.simulation.clocks import Clocks
from controller_runtime.testing.simulation.report import stack_of
from controller_runtime.testing.simulation.scheduler import Scheduler
from controller_runtime.testing.simulation.tasks import Machine, Task, TaskState


class SimulatedLock:
    """A lock of a simulated machine. Taking it may let other threads run first.

    Raises:
        RuntimeError: When entered by the thread that holds it already.
    """

    def __init__(self, scheduler: Scheduler, machine: Machine, label: str) -> None:
        self._scheduler = scheduler
        self._machine = machine
        self._label = label
        self._owner: Task | None = None
        self._contenders: list[Task] = []

    def __str__(self) -> str:
        return f"{self._machine.name}:{self._label}"

    def __enter__(self) -> Self:
        scheduler = self._scheduler
        if scheduler.observing:
            return self
        task = scheduler.enter(self._machine)
        if self._owner is task:
            raise RuntimeError(f"{task.name} holds {self} already, and it is not re-entrant")
        if scheduler.chance.random() < scheduler.switch_chance:
            scheduler.step(task, f"take {self._label}")
        self._take(task)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        # Without `enter`, which raises on a crashed host: a thread that unwinds still has to release its locks.
        if self._owner is self._scheduler.current and not self._scheduler.observing:
            self._release(self._owner)

    def _take(self, task: Task) -> None:
        while self._owner is not None:
            task.wants = self
            self._scheduler.wanting += 1
            try:
                self._scheduler.park(task, f"contended {self._label}", self._contenders)
            finally:
                task.wants = None
                self._scheduler.wanting -= 1
        self._owner = task
        task.held.append(self)

    def _release(self, task: Task) -> None:
        self._owner = None
        task.held.remove(self)
        for contender in list(self._contenders):
            self._scheduler.wake(contender)


class SimulatedCondition(SimulatedLock):
    """A condition whose waiters wake in an order drawn from the seed, and sometimes without a notification."""

    def __init__(self, scheduler: Scheduler, machine: Machine, clocks: Clocks, label: str) -> None:
        super().__init__(scheduler, machine, label)
        self._clocks = clocks
        self._waiters: list[Task] = []

    def wait_until(self, deadline: float | None) -> None:
        """Release the lock, sleep until notified or `deadline` (monotonic seconds; None: no limit), and take the lock
        again.

        It may also return early.

        Raises:
            LockHeld: The thread holds another lock.
            RuntimeError: The thread does not hold this lock.
        """
        scheduler = self._scheduler
        task = self._holder("wait on")
        scheduler.refuse_locks(task, f"a wait on {self._label}", but=self)
        self._release(task)
        if self._clocks.has_reached(deadline) or self._returns_early():
            scheduler.step(task, self._label)
        else:
            scheduler.park(task, self._label, self._waiters, self._clocks.instant_of(deadline))
            self._clocks.has_reached(deadline)
        self._take(task)

    def notify(self) -> None:
        """Wake one waiter, chosen by the seed.

        Raises:
            RuntimeError: The thread does not hold this lock.
        """
        self._holder("notify")
        if self._waiters:
            self._scheduler.wake(self._waiters[int(self._scheduler.chance.random() * len(self._waiters))])

    def notify_all(self) -> None:
        """Wake every waiter.

        Raises:
            RuntimeError: The thread does not hold this lock.
        """
        self._holder("notify")
        for waiter in list(self._waiters):
            self._scheduler.wake(waiter)

    def _holder(self, what: str) -> Task:
        task = self._scheduler.enter(self._machine)
        if self._owner is not task:
            raise RuntimeError(f"cannot {what} {self} without holding it")
        return task

    def _returns_early(self) -> bool:
        rate = self._scheduler.early_return_chance
        return rate > 0 and self._scheduler.chance.random() < rate


class SimulatedThread:
    """A thread of a simulated host."""

    def __init__(self, scheduler: Scheduler, clocks: Clocks, name: str, task: Task) -> None:
        self.name = name
        self.task = task
        self._scheduler = scheduler
        self._clocks = clocks

    def join_until(self, deadline: float | None) -> bool:
        """Wait until the thread has ended or until `deadline` (monotonic seconds; None: no limit).

        Returns:
            True if the thread has ended.

        Raises:
            LockHeld: The caller holds a lock.
            RuntimeError: The caller is this thread.
        """
        scheduler = self._scheduler
        task = scheduler.enter(self.task.machine)
        scheduler.refuse_locks(task, f"a join of {self.name}")
        if task is self.task:
            raise RuntimeError("cannot join current thread")
        if self.task.state is TaskState.ENDED or self._clocks.has_reached(deadline):
            scheduler.step(task, f"join {self.name}")
        while self.task.state is not TaskState.ENDED and not self._clocks.has_reached(deadline):  # or it was suspended
            scheduler.park(task, f"join {self.name}", self.task.joiners, self._clocks.instant_of(deadline))
        return self.task.state is TaskState.ENDED

    def stack(self) -> str:
        """Return the thread's present stack; empty once it has ended."""
        return "" if self.task.state is TaskState.ENDED else stack_of(self.task)
