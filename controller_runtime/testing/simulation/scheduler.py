# SPDX-License-Identifier: Apache-2.0
"""Real threads, of which the scheduler lets one run at a time; the seed determines which is next.

The running thread holds the baton. To give it up, it chooses the next task and hands the baton over to it. Time
advances only when no task can run. Only the thread with the baton runs code of this module, so there is no lock.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial

from controller_runtime.testing.simulation.ready_tasks import ReadyTasks
from controller_runtime.testing.simulation.real_clock import watch_thread
from controller_runtime.testing.simulation.report import hang_report, stack_of, stuck_outside
from controller_runtime.testing.simulation.strategies import Strategy, chooser, strategy_of
from controller_runtime.testing.simulation.tasks import Crashed, Hang, LockHeld, Machine, Task, TaskState
from controller_runtime.testing.simulation.timeline import VirtualTimeline
from controller_runtime.testing.simulation.trace import Trace

Hook = Callable[[], None]


class Scheduler:
    """Decides which task runs and when time advances; the arguments are those of `Simulation`."""

    def __init__(
        self,
        seed: int,
        *,
        switch_chance: float | None,
        strategy: Strategy | None,
        livelock_after: int,
        stuck_after: float,
        keep_trace: bool,
    ) -> None:
        self.watches_clocks = False  # in each task of a machine that is watched
        self.chance = random.Random(f"{seed}/schedule")
        # Drawn even if they are given, so that all later draws are the same in both cases.
        drawn_chance, drawn_strategy = self.chance.choice((0.05, 0.2, 0.5, 1.0)), strategy_of(self.chance)
        self.switch_chance = drawn_chance if switch_chance is None else switch_chance
        self.early_return_chance = self.chance.choice((0.0, 0.0, 0.0, 0.05))
        self._livelock_after = livelock_after
        self._stuck_after = stuck_after

        self.timeline = VirtualTimeline()
        self.trace = Trace(keep_trace)
        self.tasks: dict[Task, None] = {}  # the tasks that have not ended, in the order of their start
        self.wanting = 0  # the number of those that wait for a lock
        self._ready = ReadyTasks(self.timeline, chooser(strategy or drawn_strategy, self.chance))
        self._ending: list[threading.Thread] = []  # threads that have handed over the baton for the last time
        self.root = Task(Machine("test"), "test", 0.0)
        self.current = self.root

        self.checks: list[Hook] = []
        self.observing = False  # a check runs, or the simulation is over: state may be read, and nothing may wait
        self.closed = False  # every thread unwinds when it runs next
        self.given_up = False  # closed because a thread is stuck: the test's thread no longer waits for others
        self.steps = 0
        self.has_strangers = False  # whether a thread from outside of the simulation called
        self._failure: BaseException | None = None  # the test's thread raises it at its next turn
        self._settling = False
        self._busy = 0  # steps since time moved or the test's thread ran

    # Calls of tasks.

    def enter(self, machine: Machine) -> Task:
        """Return the calling task, which calls a method of a host on `machine`.

        Raises:
            Crashed: The caller's machine or `machine` has crashed, or the simulation is over.
            Hang: The test's thread calls, though it has given the simulation up.
            RuntimeError: A check or a thread from outside of the simulation calls.
        """
        task = self.current
        if self.given_up and threading.current_thread() is self.root.thread:
            raise Hang("the simulation was given up, because a thread of it is stuck")
        if self.closed or machine.dead or task.machine.dead:
            raise Crashed(f"host {machine.name} is gone")
        if self.observing:
            raise RuntimeError("a check must not wait, notify, spawn or leave")
        if task.thread.ident != threading.get_ident():
            self.has_strangers = True
            raise RuntimeError(f"{threading.current_thread().name} is not a thread of this simulation")
        return task

    def refuse_locks(self, task: Task, what: str, *, but: object = None) -> None:
        """Raise `LockHeld` if `task` holds a lock other than `but`; the run fails, even if the task catches it."""
        held = [str(lock) for lock in task.held if lock is not but]
        if held:
            error = LockHeld(f"{task.name} holds {', '.join(held)} across {what}")
            if task is not self.root:  # a catch-all in the thread could hide it from the test
                self.fail(error)
            raise error

    def step(self, task: Task, label: str) -> None:
        """Let another task run, if the strategy chooses one; `label` names the place in the trace."""
        task.label = label
        self._make_ready(task)
        self._switch(task)

    def park(self, task: Task, label: str, queue: list[Task] | None = None, due: int | None = None) -> None:
        """Let the calling task sleep, as one of `queue`, until woken or until the nanosecond `due` (None: no limit)."""
        task.label, task.queue, task.state = label, queue, TaskState.PARKED
        if queue is not None:
            queue.append(task)
        if due is not None:
            task.timer = self.timeline.at(due, partial(self.wake, task))
        self._switch(task)

    def wake(self, task: Task) -> None:
        """End the sleep of a task."""
        if task.timer is not None:
            task.timer.cancel()
            task.timer = None
        if task.queue is not None:
            task.queue.remove(task)
            task.queue = None
        self._make_ready(task)

    def settle(self) -> None:
        """Let all other threads run until none can, while time stands still. Only for the test's thread."""
        self._settling = True
        try:
            self.park(self.root, "settle")
        finally:
            self._settling = False

    def spawn(self, machine: Machine, name: str, target: Callable[[], None]) -> Task:
        """Return a new task on `machine` that runs `target` once it is chosen."""
        task = Task(machine, name, self.chance.random())
        task.thread = threading.Thread(target=self._run, args=(task, target), name=name, daemon=True)
        task.thread.start()
        self.tasks[task] = None
        self._make_ready(task)
        return task

    def fail(self, error: BaseException) -> None:
        """Fail the run: the test's thread runs next and raises `error`, unless another error was given before."""
        if self._failure is None:
            self._failure = error

    def note(self, event: str) -> None:
        """Add `event` to the trace."""
        self.trace.write(self.timeline.now, self.current.name, f"! {event}")

    # Faults of machines and tasks.

    def crash(self, machine: Machine) -> None:
        """Kill `machine`: `Crashed` is raised in each of its tasks, at once if the caller is one."""
        machine.dead = True
        for task in self.tasks:
            if task.machine is machine and task.state is TaskState.PARKED:
                self.wake(task)
        self._ready.sort()
        if self.current.machine is machine:
            raise Crashed(f"host {machine.name} is gone")

    def freeze(self, target: Machine | Task, until: int) -> None:
        """Keep `target` from running before the nanosecond `until`; its clocks and deadlines continue."""
        target.frozen_until = max(target.frozen_until, until)
        self._ready.sort()
        self.timeline.at(until, self._ready.sort)

    # The beginning and the end.

    def start(self) -> None:
        """Register the calling thread as the test's task."""
        self.root.thread = threading.current_thread()
        self.root.state = TaskState.RUNNING
        self.tasks[self.root] = None

    def close(self) -> None:
        """End every thread by raising `Crashed` in it, one after the other, and join it.

        Raises:
            Hang: A thread did not end in time.
        """
        self.closed = True
        for task in [task for task in self.tasks if task is not self.root]:
            self._unwind(task, 0.0 if self.given_up and task.state is TaskState.RUNNING else self._stuck_after)
        for thread in self._ending:
            thread.join()
        self.current = self.root
        self.observing = True

    def _unwind(self, task: Task, timeout: float) -> None:
        if task.state is not TaskState.RUNNING:
            self.current = task
            task.baton.give()  # it may have been chosen already when the test gave up
        task.thread.join(timeout)
        if task.thread.is_alive() and timeout > 0:
            raise Hang(f"{task.name} did not end with its simulation; it is at\n{stack_of(task)}")

    # The baton.

    def _run(self, task: Task, target: Callable[[], None]) -> None:
        task.baton.take()
        if self.watches_clocks and task.machine.is_watched:
            watch_thread(self.fail)  # it ends with the thread
        try:
            if not (self.closed or task.machine.dead):
                target()
        except Crashed:
            pass
        except BaseException as error:  # noqa: BLE001 - a thread ends here, and the test's thread raises it
            if not task.machine.dead:
                self.fail(error)
        task.state = TaskState.ENDED
        del self.tasks[task]
        if self.closed:
            return
        self._ending = [*(thread for thread in self._ending if thread.is_alive()), task.thread]
        for joiner in list(task.joiners):
            self.wake(joiner)
        self._hand_over(task)

    def _switch(self, task: Task) -> None:
        if self._hand_over(task) is not task:
            self._await_baton(task)
        if self.closed or task.machine.dead:
            raise Crashed(f"host {task.machine.name} is gone")
        if task is self.root and self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _hand_over(self, task: Task) -> Task:
        try:
            chosen = self._pick() if self._failure is None else self._root_at_once()
        except BaseException as error:  # noqa: BLE001 - a check failed or no task can go on: the test's thread raises it
            self.fail(error)
            chosen = self._root_at_once()
        chosen.state = TaskState.RUNNING
        self.steps += 1
        self.trace.write(self.timeline.now, chosen.name, chosen.label)
        self.current = chosen
        if chosen is not task:
            chosen.baton.give()
        return chosen

    def _await_baton(self, task: Task) -> None:
        if task is not self.root:
            task.baton.take()
            return
        seen = self.steps
        try:
            while not task.baton.take(self._stuck_after):
                if seen == self.steps:
                    what = stuck_outside(self.current, self._stuck_after)
                    raise Hang(f"{self._report(what)}\nits stack:\n{stack_of(self.current)}")
                seen = self.steps
        except BaseException:  # also an interruption, such as a time limit: the stuck thread is not waited for again
            self.closed = self.given_up = True
            raise

    def _pick(self) -> Task:
        self._observe(self.checks)
        while not self._ready:
            self._refuse_deadlock()
            if self._settling:
                self.wake(self.root)
            elif self.timeline.move():
                self._busy = 0
            else:
                raise Hang(self._report("deadlock: no thread can run and no timer is set"))
        if self._busy > self._livelock_after:
            self._busy = 0
            raise Hang(self._report(f"livelock: {self._livelock_after} steps in one instant"))
        chosen = self._ready.choose()
        self._busy = 0 if chosen is self.root else self._busy + 1
        return chosen

    def _root_at_once(self) -> Task:
        if self.root.state is TaskState.PARKED:
            self.wake(self.root)
        return self._ready.take(self.root)

    def _refuse_deadlock(self) -> None:
        # A thread that holds a lock waits for locks alone. So if none can run and one wants a lock, they form a circle.
        if self.wanting and not self._ready.has_frozen:
            raise Hang(self._report("deadlock: threads wait for each other's locks"))

    def _observe(self, hooks: list[Hook]) -> None:
        self.observing = True
        try:
            for hook in hooks:
                hook()
        finally:
            self.observing = False

    def _make_ready(self, task: Task) -> None:
        task.state = TaskState.READY
        self._ready.add(task)

    def _report(self, what: str) -> str:
        return hang_report(what, self.timeline.now, self.tasks, self.trace.recent)
