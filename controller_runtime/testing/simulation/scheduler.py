# SPDX-License-Identifier: Apache-2.0
"""Real threads that pass a baton: one runs at a time, and the seed says which is next.

Whoever gives up the baton picks the next task itself and hands over directly. Time moves
only when nobody can run. Everything here is touched by the holder of the baton alone, so
there is no lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from controller_runtime.testing.simulation.report import hang_report, stack_of
from controller_runtime.testing.simulation.strategies import Strategy, chooser, strategy_of
from controller_runtime.testing.simulation.tasks import Crashed, Hang, LockHeld, Machine, State, Task
from controller_runtime.testing.simulation.timeline import Timeline

Hook = Callable[[], None]


class Scheduler:
    """Decides who runs and when time moves.

    Args:
        seed: Every choice follows from it.
        switch_chance: How often taking a lock lets another task run; None: by the seed.
        strategy: How the next task is chosen; None: by the seed.
        livelock_after: Picks in one instant, without the test's thread, that make a livelock.
        stuck_after: Real seconds without a step after which a thread counts as stuck.
    """

    def __init__(
        self,
        seed: int,
        *,
        switch_chance: float | None,
        strategy: Strategy | None,
        livelock_after: int,
        stuck_after: float,
    ) -> None:
        self.chance = random.Random(f"{seed}/schedule")
        # Drawn even where they are given, so that the stream that follows is the same.
        drawn_chance, drawn_strategy = self.chance.choice((0.05, 0.2, 0.5, 1.0)), strategy_of(self.chance)
        self.switch_chance = drawn_chance if switch_chance is None else switch_chance
        self.strategy = drawn_strategy if strategy is None else strategy
        self.early_return_chance = self.chance.choice((0.0, 0.0, 0.0, 0.05))
        self._choose = chooser(self.strategy, self.chance)
        self._livelock_after = livelock_after
        self._stuck_after = stuck_after

        self.timeline = Timeline()
        self.tasks: dict[Task, None] = {}  # those that have not ended, in the order of their start
        self._ready: list[Task] = []  # could run now
        self._frozen: list[Task] = []  # could run, but for a pause
        self._threads: list[threading.Thread] = []
        self.root = Task(Machine("test"), "test", 0.0)
        self.current = self.root

        self.checks: list[Hook] = []
        self.idle_checks: list[Hook] = []
        self.failure: BaseException | None = None  # on its way to the test's thread
        self.closed = False
        self.observing = False  # a hook runs, or all is over: things may be looked at, nobody may wait
        self._settling = False

        self.steps = 0
        self._busy = 0  # picks since time moved or the test's thread ran
        self._hash = hashlib.blake2b(digest_size=16)
        self._recent: deque[str] = deque(maxlen=30)
        self.trace: list[str] | None = None

    # What tasks ask for.

    def enter(self, machine: Machine) -> Task:
        """The task that calls, once it is sure that it lives and so does `machine`."""
        task = self.current
        if self.closed or machine.dead or task.machine.dead:
            raise Crashed(f"host {machine.name} is gone")
        if self.observing:
            raise RuntimeError("a check must not wait, notify, spawn or leave")
        if task.ident != threading.get_ident():
            raise RuntimeError(f"{threading.current_thread().name} is not a thread of this simulation")
        return task

    def refuse_locks(self, task: Task, what: str, *, but: object = None) -> None:
        """Raise `LockHeld` if `task` holds any lock `but` the one given, and fail the run."""
        held = [str(lock) for lock in task.held if lock is not but]
        if held:
            error = LockHeld(f"{task.name} holds {', '.join(held)} across {what}")
            if task is not self.root:  # somebody may catch it there, and the breach would be missed
                self.fail(error)
            raise error

    def step(self, task: Task, label: str) -> None:
        """Let another task run, if the seed says so."""
        task.label = label
        self._make_ready(task)
        self._switch(task)

    def park(self, task: Task, label: str, queue: list[Task] | None = None, due: int | None = None) -> None:
        """Sleep among `queue` until woken or until `due` (nanoseconds)."""
        task.label, task.due, task.state = label, due, State.PARKED
        task.queue = queue
        if queue is not None:
            queue.append(task)
        if due is not None:
            task.timer = self.timeline.at(due, partial(self.wake, task))
        self._switch(task)

    def wake(self, task: Task) -> None:
        """End the sleep of a parked task."""
        if task.timer is not None:
            task.timer.cancel()
            task.timer = None
        if task.queue is not None:
            task.queue.remove(task)
            task.queue = None
        self._make_ready(task)

    def settle(self) -> None:
        """Let everybody but the test's thread run until nobody can, without moving time."""
        self._settling = True
        try:
            self.park(self.root, "settle")
        finally:
            self._settling = False

    def spawn(self, machine: Machine, name: str, target: Callable[[], None]) -> Task:
        """Make a task that runs `target`; it waits for the baton."""
        task = Task(machine, name, self.chance.random())
        thread = threading.Thread(target=self._run, args=(task, target), name=name, daemon=True)
        self._threads = [known for known in self._threads if known.is_alive()]
        self._threads.append(thread)
        self.tasks[task] = None
        thread.start()
        task.ident = thread.ident or 0
        self._make_ready(task)
        return task

    def fail(self, error: BaseException) -> None:
        """Fail the run: the test's thread runs next and raises the first `error`."""
        if self.failure is None:
            self.failure = error

    def note(self, event: str) -> None:
        """Write `event` into the trace."""
        self._write(f"{self.timeline.now} {self.current.name} ! {event}")

    # What befalls machines and tasks.

    def crash(self, machine: Machine) -> None:
        """Kill `machine`: each of its tasks gets `Crashed` where it stands."""
        machine.dead = True
        for task in self.tasks:
            if task.machine is machine and task.state is State.PARKED:
                self.wake(task)
        self._sort_frozen()
        if self.current.machine is machine:
            raise Crashed(f"host {machine.name} is gone")

    def freeze(self, whom: Machine | Task, until: int) -> None:
        """Let `whom` not run before `until`; time goes on for it."""
        whom.frozen_until = max(whom.frozen_until, until)
        self._sort_frozen()
        self.timeline.at(until, self._sort_frozen)

    # The beginning and the end.

    def start(self) -> None:
        """Make the calling thread the test's task."""
        self.root.ident = threading.get_ident()
        self.root.state = State.RUNNING
        self.tasks[self.root] = None

    def close(self) -> None:
        """Unwind every thread, one after the other, and join it.

        Raises:
            Hang: A thread did not end.
        """
        self.closed = True
        ident = {task.ident: task for task in self.tasks}
        for thread in self._threads:
            task = ident.get(thread.ident or 0)
            if task is not None and task.state is not State.RUNNING:
                self.current = task
                with contextlib.suppress(RuntimeError):  # it was about to run when the test gave up
                    task.baton.release()
            thread.join(self._stuck_after)
            if thread.is_alive() and task is not None:
                raise Hang(f"{thread.name} did not end with its simulation; it is at\n{stack_of(task)}")
        self.current = self.root
        self.observing = True

    @property
    def digest(self) -> str:
        """A hash over every step so far: time, task and place."""
        return self._hash.hexdigest()

    # The baton.

    def _run(self, task: Task, target: Callable[[], None]) -> None:
        task.baton.acquire()
        try:
            if not (self.closed or task.machine.dead):
                target()
        except Crashed:
            pass
        except BaseException as error:  # noqa: BLE001 - a thread ends here, and the test's thread raises it
            if not task.machine.dead:
                self.fail(error)
        if not self.closed:
            task.state = State.ENDED
            del self.tasks[task]
            for joiner in list(task.joiners):
                self.wake(joiner)
            self._hand_over()

    def _switch(self, task: Task) -> None:
        if self._hand_over(task) is not task:
            self._await_baton(task)
        if self.closed or task.machine.dead:
            raise Crashed(f"host {task.machine.name} is gone")
        if task is self.root and self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def _hand_over(self, task: Task | None = None) -> Task:
        try:
            chosen = self._pick() if self.failure is None else self._root_at_once()
        except Exception as error:  # noqa: BLE001 - a check failed or nobody can go on: the test's thread raises it
            self.fail(error)
            chosen = self._root_at_once()
        chosen.state = State.RUNNING
        self.steps += 1
        self._write(f"{self.timeline.now} {chosen.name} {chosen.label}")
        self.current = chosen
        if chosen is not task:
            chosen.baton.release()
        return chosen

    def _await_baton(self, task: Task) -> None:
        if task is not self.root:
            task.baton.acquire()
            return
        seen = self.steps
        while not task.baton.acquire(timeout=self._stuck_after):
            if seen == self.steps:
                self.closed = True  # whoever is stuck must not go on when it comes back
                raise Hang(
                    self._report(f"{self.current.name} is stuck outside the simulation")
                    + f"\nits stack:\n{stack_of(self.current)}"
                )
            seen = self.steps

    def _pick(self) -> Task:
        self._observe(self.checks)
        while not self._ready:
            self._observe(self.idle_checks)
            self._refuse_deadlock()
            if self._settling:
                self.wake(self.root)
            elif self.timeline.move():
                self._busy = 0
            else:
                self._hang("deadlock: nobody can run and no timer is set,")
        chosen = self._ready.pop(self._choose(self._ready) if len(self._ready) > 1 else 0)
        self._busy = 0 if chosen is self.root else self._busy + 1
        if self._busy > self._livelock_after:
            self._ready.append(chosen)
            self._busy = 0
            self._hang(f"livelock: {self._livelock_after} steps in one instant,")
        return chosen

    def _root_at_once(self) -> Task:
        if self.root.state is State.PARKED:
            self.wake(self.root)
        self._ready.remove(self.root)
        return self.root

    def _refuse_deadlock(self) -> None:
        # No lock is held across a wait, so who waits for one waits for somebody who waits for one.
        if not self._frozen and any(
            task.state is State.PARKED and task.label.startswith("lock ") for task in self.tasks
        ):
            self._hang("deadlock: threads wait for each other's locks")

    def _observe(self, hooks: list[Hook]) -> None:
        if hooks:
            self.observing = True
            try:
                for hook in hooks:
                    hook()
            finally:
                self.observing = False

    def _make_ready(self, task: Task) -> None:
        task.state, task.due = State.READY, None
        (self._frozen if self._is_frozen(task) else self._ready).append(task)

    def _is_frozen(self, task: Task) -> bool:
        until = max(task.frozen_until, task.machine.frozen_until)
        return until > self.timeline.now and not task.machine.dead

    def _sort_frozen(self) -> None:
        able = self._ready + self._frozen
        self._ready = [task for task in able if not self._is_frozen(task)]
        self._frozen = [task for task in able if self._is_frozen(task)]

    def _write(self, line: str) -> None:
        self._hash.update(line.encode())
        self._recent.append(line)
        if self.trace is not None:
            self.trace.append(line)

    def _hang(self, what: str) -> NoReturn:
        raise Hang(self._report(what))

    def _report(self, what: str) -> str:
        return hang_report(what, self.timeline.now, self.tasks, self._recent)
